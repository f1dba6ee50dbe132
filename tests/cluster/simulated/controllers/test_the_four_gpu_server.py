"""The demo's hardware, and a day on it: one whole card a team, one card cut in three, turns taken and cards lent."""

from __future__ import annotations

from typing import Any

import pytest

from portal.cluster.simulated.controllers.hardware import gpu_node
from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import (
    NAMESPACE,
    QUEUED,
    Cluster,
    condition_list,
    job,
    kueue_object,
    workload_of,
)
from tests.cluster.simulated.controllers.test_kueue_gates_pods import deployment, stateful_set

WHOLE, SMALL, LARGE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"
LABELS = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def team(cluster: Cluster, name: str, **quotas: int) -> None:
    """A queue with one flavor for whole cards and one for each slice, all with all GPU resources."""
    resources = [WHOLE, SMALL, LARGE]
    flavors: list[Obj] = []
    for flavor, resource in (("whole", WHOLE), ("small", SMALL), ("large", LARGE)):
        cells = [
            {"name": one, "nominalQuota": str(quotas.get(flavor, 0) if one == resource else 0)} for one in resources
        ]
        flavors.append({"name": flavor, "resources": cells})
    plenty = [{"name": "cpu", "nominalQuota": "100"}, {"name": "memory", "nominalQuota": "1000Gi"}]
    groups = [
        {"coveredResources": resources, "flavors": flavors},
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "cpu", "resources": plenty}]},
    ]
    cluster.store.create(kueue_object("ClusterQueue", name, spec={"cohortName": "lab", "resourceGroups": groups}))
    if cluster.store.get("Namespace", None, name) is None:
        cluster.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    cluster.store.create(kueue_object("LocalQueue", "main", namespace=name, spec={"clusterQueue": name}))


@pytest.fixture
def server(cluster: Cluster) -> Cluster:
    for flavor in ("whole", "small", "large"):
        cluster.store.create(kueue_object("ResourceFlavor", flavor, spec={"nodeLabels": LABELS}))
    cluster.store.create(kueue_object("ResourceFlavor", "cpu", spec={}))
    team(cluster, "production", whole=1, small=4, large=1)
    team(cluster, NAMESPACE, whole=1)
    team(cluster, "research", whole=1)
    cluster.manager.tick()
    return cluster


def asking(made: Obj, namespace: str, **resources: int) -> Obj:
    """The object in another team, asking for these extended resources."""
    made["metadata"]["namespace"] = namespace
    spec = made["spec"]["template"]["spec"]
    spec["nodeSelector"] = dict(LABELS)
    for part in spec["containers"][0]["resources"].values():
        part.pop(WHOLE, None)
        part.update({name: str(count) for name, count in resources.items()})
    return made


def fine_tune(name: str, gpus: int, namespace: str, **env: str) -> Obj:
    made = job(name, labels=dict(QUEUED), suspend=True, env=env)
    return asking(made, namespace, **{WHOLE: gpus})


def runs(cluster: Cluster, namespace: str) -> list[str]:
    """Names of the pods that are ready."""
    pods = cluster.store.list("Pod", namespace)
    return [pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"]


def test_the_server_has_four_cards_one_of_them_cut(cluster: Cluster) -> None:
    node = cluster.get("Node", "gpu-1", None)
    allocatable = node["status"]["allocatable"]
    assert {name: allocatable[name] for name in (WHOLE, SMALL, LARGE)} == {WHOLE: "3", SMALL: "4", LARGE: "1"}
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.count"] == "4"
    assert labels["nvidia.com/mig.strategy"] == "mixed"
    assert labels["nvidia.com/mig.config.state"] == "success"
    assert labels["nvidia.com/mig-3g.40gb.count"] == "1"
    assert condition_list(node)[-1] == ("Ready", "True", "KubeletReady")


def test_work_without_gpu_stays_off_the_gpu_server(cluster: Cluster) -> None:
    cluster.store.create(job("plain"))
    cluster.run(2)
    assert cluster.pods()[0]["spec"]["nodeName"] == "cpu-1"


def test_the_nodes_are_made_once(cluster: Cluster) -> None:
    cluster.store.delete("Node", None, "cpu-1")
    cluster.restart()
    assert [node["metadata"]["name"] for node in cluster.store.list("Node")] == ["gpu-1"]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"card": "none", "whole": 1}, "no such card"),
        ({"card": "h100-80", "whole": 1, "mig": {"3g.40gb": 3}}, "cannot be cut"),
        ({"card": "h100-80", "whole": 1, "mig": {"7g.80gb": 1}, "shared": 2}, "either cut by MIG or time-sliced"),
    ],
)
def test_hardware_that_cannot_be_is_refused(asked: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        gpu_node("gpu-9", **asked)


def test_three_small_models_share_the_cut_card(server: Cluster) -> None:
    for name, resource in (("tiny", SMALL), ("other", SMALL), ("big", LARGE)):
        server.store.create(asking(deployment(name), "production", **{resource: 1}))
    server.run(6)
    assert len(runs(server, "production")) == 3
    usage = server.manager.books.engine.usage("production")
    assert (usage["small"][SMALL][0], usage["large"][LARGE][0]) == (2, 1)
    another = server.store.create(asking(deployment("more"), "production", **{LARGE: 1}))
    server.run(3)
    assert len(runs(server, "production")) == 3
    assert another["metadata"]["name"] not in " ".join(runs(server, "production"))


def test_a_day_of_the_four_gpu_server(server: Cluster) -> None:
    server.store.create(asking(deployment("llm"), "production", **{WHOLE: 1}))
    server.run(6)
    assert len(runs(server, "production")) == 1

    first = server.store.create(asking(stateful_set("first"), NAMESPACE, **{WHOLE: 1}))
    server.run(4)
    fine_tuning = server.store.create(fine_tune("tune", 2, "research", TURNO_SIM_SECONDS="30"))
    second = server.store.create(asking(stateful_set("second"), NAMESPACE, **{WHOLE: 1}))
    server.run(4)
    assert runs(server, NAMESPACE) == ["first-0", "second-0"], "the second notebook borrows the third card"
    assert condition_list(workload_of(server, fine_tuning))[-1] == ("QuotaReserved", "False", "Pending")

    for notebook in (first, second):
        server.store.delete("StatefulSet", NAMESPACE, notebook["metadata"]["name"])
    server.run(6)
    assert len(runs(server, "research")) == 1
    assert server.manager.books.engine.usage("research")["whole"][WHOLE] == (2, 1)

    server.run(40)
    assert ("Finished", "True", "Succeeded") in condition_list(workload_of(server, fine_tuning))
    assert server.manager.books.engine.usage("research")["whole"][WHOLE] == (0, 0)
    server.store.create(asking(stateful_set("third"), NAMESPACE, **{WHOLE: 1}))
    server.run(4)
    assert runs(server, NAMESPACE) == ["third-0"]


def test_fewer_pods_where_fewer_will_do(server: Cluster) -> None:
    made = fine_tune("elastic", 1, "research")
    made["spec"].update(parallelism=4, completions=4)
    made["metadata"]["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    server.store.create(made)
    server.run(3)
    found = server.store.get("Job", "research", "elastic")
    assert found is not None
    assert found["spec"]["parallelism"] == 3
    assert len(runs(server, "research")) == 3
    assert workload_of(server, found)["status"]["admission"]["podSetAssignments"][0]["count"] == 3
