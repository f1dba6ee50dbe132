"""StatefulSets and Deployments that nobody queues: order, claims, roll-outs, deadlines."""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import NAMESPACE, Cluster, condition_list, container

PROBE = {"httpGet": {"path": "/", "port": 80}}


def owner(kind: str, name: str, *, env: dict[str, str] | None = None, **spec: Any) -> Obj:
    made = container(env)
    made["readinessProbe"] = PROBE
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [made]}}
    selector = {"matchLabels": {"app": name}}
    whole = {"replicas": 1, "serviceName": name, "selector": selector, "template": template, **spec}
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": whole}


def retag(found: Obj) -> None:
    found["spec"]["template"]["spec"]["containers"][0]["image"] = "example.org/new:2"


def names(cluster: Cluster) -> list[str]:
    return [pod["metadata"]["name"] for pod in cluster.pods()]


def test_pods_of_a_stateful_set_come_one_after_the_other(cluster: Cluster) -> None:
    cluster.store.create(owner("StatefulSet", "db", replicas=3))
    cluster.run(1.5)
    assert names(cluster) == ["db-0"]
    cluster.run(8)
    assert names(cluster) == ["db-0", "db-1", "db-2"]
    status = cluster.get("StatefulSet", "db")["status"]
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 3, 3)
    assert status["currentRevision"] == status["updateRevision"]


def test_the_last_pod_goes_first(cluster: Cluster) -> None:
    cluster.store.create(owner("StatefulSet", "db", replicas=2))
    cluster.run(8)
    cluster.store.mutate("StatefulSet", NAMESPACE, "db", lambda found: found["spec"].update(replicas=1))
    cluster.run(2)
    assert names(cluster) == ["db-0"]


def test_a_new_template_replaces_pods_under_the_same_name(cluster: Cluster) -> None:
    cluster.store.create(owner("StatefulSet", "db"))
    cluster.run(4)
    before = cluster.get("Pod", "db-0")["metadata"]
    cluster.store.mutate("StatefulSet", NAMESPACE, "db", retag)
    cluster.run(5)
    after = cluster.get("Pod", "db-0")
    assert after["metadata"]["uid"] != before["uid"]
    assert after["metadata"]["labels"]["controller-revision-hash"] != before["labels"]["controller-revision-hash"]
    assert after["spec"]["containers"][0]["image"] == "example.org/new:2"


def test_claims_are_made_from_templates_and_outlive_the_set(cluster: Cluster) -> None:
    template = {
        "metadata": {"name": "home"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    cluster.store.create(owner("StatefulSet", "db", volumeClaimTemplates=[template]))
    cluster.run(4)
    assert cluster.get("Pod", "db-0")["status"]["phase"] == "Running"
    assert cluster.get("PersistentVolumeClaim", "home-db-0")["status"]["phase"] == "Bound"
    cluster.store.delete("StatefulSet", NAMESPACE, "db")
    cluster.run(3)
    assert cluster.pods() == []
    assert cluster.get("PersistentVolumeClaim", "home-db-0")["status"]["phase"] == "Bound"


def test_an_evicted_pod_of_a_set_is_made_again(cluster: Cluster) -> None:
    cluster.store.create(owner("StatefulSet", "db"))
    cluster.run(4)
    first = cluster.get("Pod", "db-0")["metadata"]["uid"]
    order = {"simulated.turno.dev/now": "137 Error evicted"}
    cluster.store.mutate("Pod", NAMESPACE, "db-0", lambda pod: pod["metadata"].update(annotations=order))
    cluster.run(4)
    assert cluster.get("Pod", "db-0")["metadata"]["uid"] != first


def test_a_pod_whose_name_is_too_long_for_a_label_is_not_made(cluster: Cluster) -> None:
    cluster.store.create(owner("StatefulSet", "d" * 60))
    cluster.run(1)
    assert cluster.pods() == []
    ((reason, message),) = cluster.events("d" * 60)
    assert reason == "FailedCreate"
    assert "must be no more than 63 bytes" in message


def test_a_deployment_is_available_when_enough_pods_are(cluster: Cluster) -> None:
    cluster.store.create(owner("Deployment", "web", replicas=4))
    cluster.manager.tick()
    assert condition_list(cluster.get("Deployment", "web")) == [
        ("Available", "False", "MinimumReplicasUnavailable"),
        ("Progressing", "True", "ReplicaSetUpdated"),
    ]
    cluster.run(4)
    assert condition_list(cluster.get("Deployment", "web")) == [
        ("Available", "True", "MinimumReplicasAvailable"),
        ("Progressing", "True", "NewReplicaSetAvailable"),
    ]
    assert [reason for reason, _ in cluster.events("web")] == ["ScalingReplicaSet"]


def test_a_roll_out_with_a_surge_keeps_all_that_are_wanted(cluster: Cluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    cluster.store.create(owner("Deployment", "web", replicas=2, strategy=strategy))
    cluster.run(4)
    cluster.store.mutate("Deployment", NAMESPACE, "web", retag)
    fewest = 2
    for _ in range(20):
        cluster.run(0.5)
        fewest = min(fewest, cluster.get("Deployment", "web")["status"].get("availableReplicas", 0))
    assert fewest == 2
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.pods()} == {"example.org/new:2"}


def test_recreate_ends_the_old_before_the_new_begins(cluster: Cluster) -> None:
    cluster.store.create(owner("Deployment", "web", strategy={"type": "Recreate"}))
    cluster.run(4)
    cluster.store.mutate("Deployment", NAMESPACE, "web", retag)
    cluster.run(5)
    (pod,) = cluster.pods()
    assert pod["spec"]["containers"][0]["image"] == "example.org/new:2"


def test_a_roll_out_that_stands_still_says_so_at_its_deadline(cluster: Cluster) -> None:
    env = {"TURNO_SIM_EXIT": "image"}
    cluster.store.create(owner("Deployment", "web", env=env, progressDeadlineSeconds=30))
    cluster.run(40)
    assert ("Progressing", "False", "ProgressDeadlineExceeded") in condition_list(cluster.get("Deployment", "web"))


def test_old_replica_sets_stay_for_the_way_back(cluster: Cluster) -> None:
    cluster.store.create(owner("Deployment", "web"))
    cluster.run(4)
    first = cluster.store.list("ReplicaSet")[0]["metadata"]["name"]
    original = cluster.get("Deployment", "web")["spec"]["template"]
    cluster.store.mutate("Deployment", NAMESPACE, "web", retag)
    cluster.run(6)
    cluster.store.mutate("Deployment", NAMESPACE, "web", lambda found: found["spec"].update(template=original))
    cluster.run(6)
    assert len(cluster.store.list("ReplicaSet")) == 2
    (pod,) = cluster.pods()
    assert pod["metadata"]["ownerReferences"][0]["name"] == first
