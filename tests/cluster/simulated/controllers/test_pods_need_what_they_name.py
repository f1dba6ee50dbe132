"""Secrets, ConfigMaps and claims that a pod names, and containers that are started again."""

from __future__ import annotations

from typing import Any

import pytest

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import NAMESPACE, Cluster, container, job


def secret(name: str, data: dict[str, str]) -> Obj:
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}


def claim(name: str) -> Obj:
    meta = {"name": name, "namespace": NAMESPACE}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def job_with(**pod: Any) -> Obj:
    return job("train", pod=pod)


def waiting(cluster: Cluster) -> Obj:
    state: Obj = cluster.pods()[0]["status"]["containerStatuses"][0]["state"]["waiting"]
    return state


def test_a_secret_that_comes_late_only_delays(cluster: Cluster) -> None:
    named = container()
    named["env"] = [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}}]
    cluster.store.create(job_with(containers=[named]))
    cluster.run(3)
    assert waiting(cluster) == {"reason": "CreateContainerConfigError", "message": 'secret "keys" not found'}
    cluster.store.create(secret("keys", {"other": "eA=="}))
    cluster.run(3)
    assert waiting(cluster)["message"] == "couldn't find key token in Secret team-a/keys"
    cluster.store.mutate("Secret", NAMESPACE, "keys", lambda found: found["data"].update(token="eA=="))
    cluster.run(3)
    assert cluster.pods()[0]["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        ({"secret": {"secretName": "keys"}}, 'secret "keys" not found'),
        ({"configMap": {"name": "settings"}}, 'configmap "settings" not found'),
    ],
)
def test_a_volume_that_is_missing_is_told_in_an_event(cluster: Cluster, volume: Obj, told: str) -> None:
    cluster.store.create(job_with(volumes=[{"name": "v", **volume}]))
    cluster.run(3)
    (pod,) = cluster.pods()
    assert waiting(cluster) == {"reason": "ContainerCreating"}
    assert ("FailedMount", f'MountVolume.SetUp failed for volume "v" : {told}') in cluster.events(
        pod["metadata"]["name"]
    )


def test_optional_sources_are_not_waited_for(cluster: Cluster) -> None:
    named = container()
    named["envFrom"] = [{"secretRef": {"name": "keys", "optional": True}}]
    cluster.store.create(job_with(containers=[named]))
    cluster.run(3)
    assert cluster.pods()[0]["status"]["phase"] == "Running"


def test_a_claim_is_bound_at_once_and_held_while_a_pod_uses_it(cluster: Cluster) -> None:
    cluster.store.create(claim("home"))
    cluster.manager.tick()
    assert cluster.get("PersistentVolumeClaim", "home")["status"]["phase"] == "Bound"
    volume = {"name": "home", "persistentVolumeClaim": {"claimName": "home"}}
    cluster.store.create(job_with(volumes=[volume]))
    cluster.run(3)
    cluster.store.delete("PersistentVolumeClaim", NAMESPACE, "home")
    cluster.run(1)
    assert "deletionTimestamp" in cluster.get("PersistentVolumeClaim", "home")["metadata"]
    cluster.store.delete("Job", NAMESPACE, "train")
    cluster.run(3)
    assert cluster.store.list("PersistentVolumeClaim") == []


def test_a_pod_without_its_claim_cannot_be_placed(cluster: Cluster) -> None:
    volume = {"name": "home", "persistentVolumeClaim": {"claimName": "home"}}
    cluster.store.create(job_with(volumes=[volume]))
    cluster.run(2)
    (pod,) = cluster.pods()
    told = 'persistentvolumeclaim "home" not found'
    assert ("FailedScheduling", f"0/2 nodes are available: {told}.") in cluster.events(pod["metadata"]["name"])
    cluster.store.create(claim("home"))
    cluster.run(3)
    assert cluster.pods()[0]["status"]["phase"] == "Running"


def test_a_container_that_fails_is_started_again_where_it_should_be(cluster: Cluster) -> None:
    env = {"TURNO_SIM_EXIT": "7", "TURNO_SIM_SECONDS": "1"}
    cluster.store.create(job("train", env=env, pod={"restartPolicy": "OnFailure"}))
    cluster.run(16)
    status = cluster.pods()[0]["status"]["containerStatuses"][0]
    assert status["restartCount"] == 2
    assert status["lastState"]["terminated"]["exitCode"] == 7
    pod = cluster.pods()[0]
    assert cluster.said(pod, restart=0)[-1] == "SystemExit: 7"
    assert cluster.said(pod, restart=1)[-1] == "SystemExit: 7"


def test_a_pod_that_only_tolerates_nothing_stays_off_a_tainted_node(cluster: Cluster) -> None:
    taint = {"key": "team", "value": "b", "effect": "NoSchedule"}
    for name in ("gpu-1", "cpu-1"):
        cluster.store.mutate("Node", None, name, lambda found: found["spec"].update(taints=[taint]))
    cluster.store.create(job("stranger"))
    cluster.store.create(job("guest", pod={"tolerations": [{"key": "team", "value": "b", "effect": "NoSchedule"}]}))
    cluster.run(3)
    placed = {pod["metadata"]["name"].rsplit("-", 1)[0]: pod["spec"].get("nodeName") for pod in cluster.pods()}
    assert placed == {"stranger": None, "guest": "cpu-1"}
