"""StatefulSets and Deployments under Kueue: gated pods, their Workloads, scaling to nothing, deletion."""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import (
    NAMESPACE,
    QUEUED,
    Cluster,
    condition_list,
    container,
    queued_job,
    workload_of,
)


def stateful_set(name: str, *, gpus: int = 1, replicas: int = 1) -> Obj:
    """As it is after Kueue's webhook."""
    template: Obj = {
        "metadata": {"labels": {"app": name}, "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"}},
        "spec": {"containers": [container(nvidia__com_gpu="0")]},
    }
    template["spec"]["containers"] = [container(**{"nvidia.com__gpu": str(gpus)})]
    meta = {"name": name, "namespace": NAMESPACE, "labels": dict(QUEUED)}
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": replicas, "serviceName": name, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


def deployment(name: str, *, gpus: int = 1, replicas: int = 1, **spec: Any) -> Obj:
    """As it is after Kueue's webhook."""
    marks = {**QUEUED, "kueue.x-k8s.io/managed": "true"}
    template = {
        "metadata": {
            "labels": {"app": name, **marks},
            "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "deployment"},
        },
        "spec": {"containers": [container(**{"nvidia.com__gpu": str(gpus)})]},
    }
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    whole = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        "strategy": strategy,
    }
    meta = {"name": name, "namespace": NAMESPACE, "labels": dict(QUEUED)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {**whole, **spec}}


def scale(cluster: Cluster, kind: str, name: str, replicas: int) -> None:
    cluster.store.mutate(kind, NAMESPACE, name, lambda found: found["spec"].update(replicas=replicas))


def test_a_notebooks_pod_waits_gated_until_quota_is_free(lab: Cluster) -> None:
    lab.store.create(queued_job("first", 3, env={"TURNO_SIM_SECONDS": "10"}))
    lab.run(3)
    notebook = lab.store.create(stateful_set("nb"))
    lab.run(3)
    pod = lab.get("Pod", "nb-0")
    name = workload_of(lab, notebook)["metadata"]["name"]
    assert [gate["name"] for gate in pod["spec"]["schedulingGates"]] == [
        "kueue.x-k8s.io/admission",
        "kueue.x-k8s.io/topology",
    ]
    assert pod["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] == name
    assert pod["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"] == "main"
    assert "finalizers" not in pod["metadata"]
    assert name.startswith("statefulset-nb-")
    lab.run(12)
    pod = lab.get("Pod", "nb-0")
    assert "schedulingGates" not in pod["spec"]
    assert pod["status"]["phase"] == "Running"
    assert pod["metadata"]["labels"]["kueue.x-k8s.io/cluster-queue-name"] == "team-a"
    assert lab.get("StatefulSet", "nb")["status"]["readyReplicas"] == 1
    workload = workload_of(lab, notebook)
    assert [ref["kind"] for ref in workload["metadata"]["ownerReferences"]] == ["StatefulSet", "Pod"]
    assert condition_list(workload)[0] == ("PodsReady", "True", "Started")


def test_scaled_to_nothing_the_workload_vanishes_and_comes_back(lab: Cluster) -> None:
    notebook = lab.store.create(stateful_set("nb"))
    lab.run(4)
    scale(lab, "StatefulSet", "nb", 0)
    lab.run(3)
    assert lab.store.list("Workload") == []
    assert lab.pods() == []
    scale(lab, "StatefulSet", "nb", 1)
    lab.run(4)
    assert condition_list(workload_of(lab, notebook))[-1] == ("Admitted", "True", "Admitted")
    assert lab.get("Pod", "nb-0")["status"]["phase"] == "Running"


def test_a_deleted_notebook_holds_its_quota_until_its_pod_is_gone(lab: Cluster) -> None:
    lab.store.create(stateful_set("nb"))
    lab.run(4)
    lab.store.delete("StatefulSet", NAMESPACE, "nb")
    lab.manager.tick()
    (workload,) = lab.store.list("Workload")
    assert condition_list(workload)[-1] == ("Admitted", "True", "Admitted")
    lab.run(3)
    assert lab.store.list("Workload") == []
    assert lab.get("ClusterQueue", "team-a", None)["status"]["reservingWorkloads"] == 0


def test_a_preempted_notebook_gets_a_new_gated_pod(lab: Cluster) -> None:
    notebook = lab.store.create(stateful_set("nb", gpus=3))
    lab.run(4)
    first = lab.get("Pod", "nb-0")["metadata"]["uid"]
    lab.store.create(queued_job("owner", 1, namespace="team-b", env={"TURNO_SIM_SECONDS": "20"}))
    lab.run(6)
    pod = lab.get("Pod", "nb-0")
    assert pod["metadata"]["uid"] != first
    assert pod["spec"]["schedulingGates"]
    assert ("Preempted", "True", "InCohortReclamation") in condition_list(workload_of(lab, notebook))
    lab.run(30)
    assert lab.get("Pod", "nb-0")["status"]["phase"] == "Running"


def test_each_pod_of_an_endpoint_is_admitted_for_itself(lab: Cluster) -> None:
    lab.store.create(deployment("llm", replicas=4))
    lab.run(5)
    workloads = lab.store.list("Workload")
    pods = lab.pods()
    assert len(workloads) == len(pods) == 4
    assert {one["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] for one in workloads} == {
        pod["metadata"]["uid"] for pod in pods
    }
    assert all(one["metadata"]["name"].startswith("pod-llm-") for one in workloads)
    status = lab.get("Deployment", "llm")["status"]
    assert (status["replicas"], status["readyReplicas"], status["unavailableReplicas"]) == (4, 3, 1)
    assert condition_list(lab.get("Deployment", "llm"))[0] == ("Available", "True", "MinimumReplicasAvailable")
    scale(lab, "Deployment", "llm", 3)
    lab.run(3)
    assert len(lab.store.list("Workload")) == 3
    assert all("schedulingGates" not in pod["spec"] for pod in lab.pods())


def test_a_roll_out_without_surge_needs_no_second_card(lab: Cluster) -> None:
    lab.store.create(deployment("llm", gpus=3))
    lab.run(5)
    (before,) = lab.pods()

    def retag(found: Obj) -> None:
        found["spec"]["template"]["spec"]["containers"][0]["image"] = "example.org/serve:2"

    lab.store.mutate("Deployment", NAMESPACE, "llm", retag)
    lab.run(8)
    (after,) = lab.pods()
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["status"]["phase"] == "Running"
    assert lab.get("Deployment", "llm")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert len(lab.store.list("ReplicaSet")) == 2


def test_a_deleted_endpoint_leaves_nothing(lab: Cluster) -> None:
    lab.store.create(deployment("llm", replicas=2))
    lab.run(5)
    lab.store.delete("Deployment", NAMESPACE, "llm")
    lab.run(5)
    assert [lab.store.list(kind) for kind in ("ReplicaSet", "Pod", "Workload")] == [[], [], []]


def test_a_preempted_replica_is_replaced_by_one_that_waits(lab: Cluster) -> None:
    lab.store.create(deployment("llm", replicas=3))
    lab.run(5)
    lab.store.create(queued_job("owner", 1, namespace="team-b", env={"TURNO_SIM_SECONDS": "60"}))
    lab.run(6)
    gated = [pod for pod in lab.pods() if pod["spec"].get("schedulingGates")]
    assert len(lab.pods()) == 3
    assert len(gated) == 1
    (pod,) = lab.store.list("Pod", "team-b")
    assert pod["status"]["phase"] == "Running"


def test_while_kueue_is_down_no_pod_can_be_made(lab: Cluster) -> None:
    lab.manager.run_kueue(runs=False)
    lab.store.create(stateful_set("nb"))
    lab.run(3)
    assert lab.pods() == []
    ((reason, message),) = lab.events("nb")
    assert reason == "FailedCreate"
    assert 'failed calling webhook "mpod.kb.io"' in message
    lab.manager.run_kueue(runs=True)
    lab.run(8)
    assert lab.get("Pod", "nb-0")["status"]["phase"] == "Running"
