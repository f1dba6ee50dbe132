"""A simulated cluster in process, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.cluster.simulated.controllers.clusterclock import ClusterClock
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change, Store

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
NAMESPACE = "team-a"


class Cluster:
    """Store, logs and controllers; `run` lets so many seconds pass, at each moment at which something is due."""

    def __init__(self) -> None:
        self.now = START
        self.clock = ClusterClock(lambda: self.now)
        self.store = Store(clock=self.clock)
        self.logs = LogBook()
        self.manager = Manager(self.store, self.logs, self.clock)
        self.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        self.manager.tick()

    def run(self, seconds: float) -> None:
        end = self.now + timedelta(seconds=seconds)
        wait = self.manager.tick()
        while wait is not None and self.now + timedelta(seconds=wait) <= end:
            self.now += timedelta(seconds=wait)
            wait = self.manager.tick()
        self.now = end
        self.manager.tick()

    def restart(self) -> None:
        """New controllers over the same store, as after a restart of the process."""
        self.manager = Manager(self.store, self.logs, self.clock)
        self.manager.tick()

    def get(self, kind: str, name: str, namespace: str | None = NAMESPACE) -> Obj:
        found = self.store.get(kind, namespace, name)
        assert found is not None, f"no {kind} {name}"
        return found

    def pods(self, **labels: str) -> list[Obj]:
        wanted = {key.replace("__", "/"): value for key, value in labels.items()}
        return self.store.list("Pod", NAMESPACE, wanted)

    def events(self, name: str) -> list[tuple[str, str]]:
        """(reason, message) of the events about an object, oldest first."""
        found = [event for event in self.store.list("Event") if event["involvedObject"]["name"] == name]
        found.sort(key=lambda event: int(event["metadata"]["name"].rpartition(".")[2], 16))
        return [(event["reason"], event["message"]) for event in found]

    def said(self, pod: Obj, restart: int = 0) -> list[str]:
        lines, _ = self.logs.read(pod["metadata"]["uid"], pod["spec"]["containers"][0]["name"], restart)
        return [line.text.decode().rstrip("\n") for line in lines]

    def record(self, kind: str) -> list[Change]:
        """Collects the changes of a kind from now on."""
        seen: list[Change] = []
        self.store.subscribe(lambda change: seen.append(change) if change.kind == kind else None)
        return seen


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.store.close()


def container(env: dict[str, str] | None = None, **resources: str) -> Obj:
    asked = {"cpu": "1", "memory": "1Gi", **{name.replace("__", "/"): text for name, text in resources.items()}}
    return {
        "name": "main",
        "image": "example.org/train:1",
        "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
        "resources": {"requests": asked, "limits": dict(asked)},
    }


def job(name: str, *, env: dict[str, str] | None = None, gpus: int = 0, **spec: Any) -> Obj:
    resources = {"nvidia.com__gpu": str(gpus)} if gpus else {}
    labels = spec.pop("labels", {})
    pod_spec = {"restartPolicy": "Never", "containers": [container(env, **resources)], **spec.pop("pod", {})}
    template = {"metadata": {"labels": {"batch.kubernetes.io/job-name": name}}, "spec": pod_spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": template, **spec},
    }


def condition_list(obj: Obj) -> list[tuple[str, str, str]]:
    """(type, status, reason) of every condition, in order."""
    return [(one["type"], one["status"], one.get("reason", "")) for one in obj["status"].get("conditions", [])]


QUEUED = {"kueue.x-k8s.io/queue-name": "main"}


def kueue_object(kind: str, name: str, **fields: Any) -> Obj:
    meta: Obj = {"name": name}
    if "namespace" in fields:
        meta["namespace"] = fields.pop("namespace")
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, **fields}


def cluster_queue(name: str, gpus: int, *, cohort: str = "lab", **spec: Any) -> Obj:
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}]
    plenty = [{"name": "cpu", "nominalQuota": "100"}, {"name": "memory", "nominalQuota": "1000Gi"}]
    groups = [
        {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": quota}]},
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "cpu", "resources": plenty}]},
    ]
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    whole = {"cohortName": cohort, "resourceGroups": groups, "namespaceSelector": {}, "preemption": preemption, **spec}
    return kueue_object("ClusterQueue", name, spec=whole)


@pytest.fixture
def lab(cluster: Cluster) -> Cluster:
    furnish_lab(cluster)
    return cluster


def furnish_lab(cluster: Cluster) -> None:
    """Two teams that lend to each other: team-a has two whole cards, team-b has one; priorities low and high."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    cluster.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-b"}})
    cluster.store.create(kueue_object("ResourceFlavor", "h100", spec={"nodeLabels": labels}))
    cluster.store.create(kueue_object("ResourceFlavor", "cpu", spec={}))
    for name, value in (("low", 10), ("high", 1000)):
        cluster.store.create(kueue_object("WorkloadPriorityClass", name, value=value))
    for team, gpus in (("team-a", 2), ("team-b", 1)):
        cluster.store.create(cluster_queue(team, gpus))
        cluster.store.create(kueue_object("LocalQueue", "main", namespace=team, spec={"clusterQueue": team}))
    cluster.manager.tick()


def workload_of(cluster: Cluster, owner: Obj) -> Obj:
    """The Workload of an owner, found by its uid."""
    namespace = owner["metadata"]["namespace"]
    (found,) = cluster.store.list("Workload", namespace, {"kueue.x-k8s.io/job-uid": owner["metadata"]["uid"]})
    return found


def queued_job(name: str, gpus: int, *, namespace: str = NAMESPACE, priority: str = "", **spec: Any) -> Obj:
    """A Job as it is after Kueue's webhook: suspended."""
    labels = {**QUEUED, **spec.pop("labels", {})}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    made = job(name, gpus=gpus, labels=labels, suspend=True, **spec)
    made["metadata"]["namespace"] = namespace
    return made
