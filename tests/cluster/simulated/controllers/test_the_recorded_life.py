"""The life that was recorded with a real Kueue, lived again: objects, conditions and messages must be the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.cluster.simulated.controllers.hardware import node
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.server import Cluster, Settings
from portal.kernel import clock
from tests.cluster.simulated.conftest import Asker

WIRE = Path(__file__).parents[5] / "shared" / "cases" / "kubernetes" / "wire.jsonl"
pytestmark = pytest.mark.skipif(not WIRE.exists(), reason="the recorded exchanges are not beside this checkout")

KUEUE, BATCH = "/apis/kueue.x-k8s.io/v1beta2", "/apis/batch/v1"
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORKLOAD = re.compile(r"\b((?:job|statefulset|pod)-[a-z0-9-]+)-[0-9a-f]{5}\b")
_POD = re.compile(r"\b(j1)-[a-z0-9]{5}\b")
_DROPPED = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "observedGeneration")
_DROPPED += ("lastTransitionTime", "lastProbeTime", "startTime", "completionTime", "topologyRequest")


def comparable(value: Any) -> Any:
    """What must be the same: everything but times, versions, uids and the endings of made-up names."""
    if isinstance(value, dict):
        kept = {name: comparable(one) for name, one in value.items() if name not in _DROPPED}
        return {name: one for name, one in kept.items() if not name.startswith("pod-") or ".stage.kwok" not in name}
    if isinstance(value, list):
        return [comparable(one) for one in value]
    if isinstance(value, str):
        return _POD.sub(r"\1-?", _WORKLOAD.sub(r"\1-?", _UID.sub("<uid>", value)))
    return value


class Life:
    """The recorded cluster, and what is asked of it."""

    def __init__(self) -> None:
        self.record = {one["id"]: one for one in map(json.loads, WIRE.read_text().splitlines())}
        self.now = datetime(2026, 12, 1, 9, tzinfo=UTC)
        clock.set_source(lambda: self.now)
        self.cluster = Cluster(Settings(port=0, data_port=0, control_port=0))
        self.ask = Asker(self.cluster.store, webhooks=self.cluster.webhooks)
        self.ask.api = self.ask.player.api = self.cluster.api
        for name in ("gpu-1", "gpu-2"):
            self.cluster.store.delete("Node", None, name)
            made = node(name, cpu="32", memory="256Gi", resources={"nvidia.com/gpu": "2"})
            made["metadata"]["labels"]["nvidia.com/gpu.product"] = "NVIDIA-H200"
            self.cluster.store.create(made)
        self._furnish()

    def _furnish(self) -> None:
        for name in ("w1", "w2"):
            self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        flavor = self.record["kueue-flavor"]["request"]
        self.ask("POST", f"{KUEUE}/resourceflavors", flavor)
        self.ask("POST", f"{KUEUE}/resourceflavors", {**flavor, "metadata": {"name": "t-cpu"}, "spec": {}})
        for name, value in (("t-low", 10), ("t-high", 1000)):
            self.ask("POST", f"{KUEUE}/workloadpriorityclasses", {"metadata": {"name": name}, "value": value})
        for team, namespace in (("a", "w1"), ("b", "w2")):
            self.ask("POST", f"{KUEUE}/clusterqueues", self.record[f"kueue-clusterqueue-{team}"]["request"])
            queue = self.record[f"kueue-localqueue-{team}"]["request"]
            self.ask("POST", f"{KUEUE}/namespaces/{namespace}/localqueues", queue)
        self.run(1)

    def run(self, seconds: float) -> None:
        end = self.now + timedelta(seconds=seconds)
        wait = self.cluster.manager.tick()
        while wait is not None and self.now + timedelta(seconds=wait) <= end:
            self.now += timedelta(seconds=wait)
            wait = self.cluster.manager.tick()
        self.now = end
        self.cluster.manager.tick()

    def submit(self, name: str, gpus: int, seconds: int, *, namespace: str = "w1", **labels: str) -> None:
        asked = json.loads(json.dumps(self.record["job-create-unsuspended"]["request"]))
        marks = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in labels.items()}
        asked["metadata"] = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "main", **marks}}
        template = asked["spec"]["template"]
        template["metadata"] = {"annotations": {"simulated.turno.dev/seconds": str(seconds)}}
        for part in template["spec"]["containers"][0]["resources"].values():
            part["nvidia.com/gpu"] = str(gpus)
        assert self.ask("POST", f"{BATCH}/namespaces/{namespace}/jobs", asked).status == 201

    def recorded(self, exchange: str) -> Any:
        return comparable(self.record[exchange]["response"])

    def seen(self, path: str) -> Any:
        return comparable(self.ask("GET", path).body)

    def workload(self, job: str, namespace: str = "w1") -> Obj:
        listed = self.ask("GET", f"{KUEUE}/namespaces/{namespace}/workloads").body["items"]
        (found,) = [one for one in listed if any(ref["name"] == job for ref in one["metadata"]["ownerReferences"])]
        return found


@pytest.fixture
def life() -> Iterator[Life]:
    made = Life()
    yield made
    clock.set_source(None)


def same(seen: Obj, recorded: Obj, *parts: str) -> None:
    """Equal in these parts, conditions in any order."""
    for part in parts:
        mine, theirs = seen.get(part), recorded.get(part)
        for one in (mine, theirs):
            if isinstance(one, dict):
                one.get("conditions", []).sort(key=lambda told: told["type"])
                (one.get("annotations") or {}).pop("simulated.turno.dev/seconds", None)
                if one.get("annotations") == {}:
                    del one["annotations"]
        assert mine == theirs


def plain(obj: Obj) -> Obj:
    """Without the annotations by which the two simulations are told what pods do."""
    text = json.dumps(obj).replace('"simulated.turno.dev/seconds": "3"', "").replace('"annotations": {}, ', "")
    return json.loads(text.replace('"annotations": {, ', '"annotations": {'))


def test_a_job_from_admission_to_its_end(life: Life) -> None:
    life.submit("j1", 1, 3)
    life.cluster.manager.tick()
    admitted = comparable(life.workload("j1"))
    same(admitted, life.recorded("workload-admitted"), "metadata", "status")
    same(plain(life.seen(f"{BATCH}/namespaces/w1/jobs/j1")), life.recorded("job-admitted"), "status")
    life.run(2)
    (pod,) = life.ask("GET", "pods").body["items"]
    recorded = life.recorded("pod-running")
    for field in ("labels", "finalizers", "ownerReferences", "generateName"):
        assert comparable(pod)["metadata"][field] == recorded["metadata"][field]
    assert {one["type"]: one["status"] for one in pod["status"]["conditions"]}.items() >= {
        one["type"]: one["status"] for one in recorded["status"]["conditions"]
    }.items()
    life.run(10)
    same(comparable(life.workload("j1")), life.recorded("workload-finished"), "metadata", "status")
    same(life.seen(f"{BATCH}/namespaces/w1/jobs/j1"), life.recorded("job-finished"), "status")


def borrow_and_reclaim(life: Life) -> None:
    life.submit("b1", 2, 90, priority_class="t-low")
    life.run(2)
    life.submit("b2", 2, 90, priority_class="t-low")
    life.run(1)
    same(life.seen(f"{KUEUE}/clusterqueues/t-a"), life.recorded("clusterqueue-borrowing"), "spec", "status", "metadata")
    life.submit("b3", 1, 5, priority_class="t-low")
    life.run(2)
    same(comparable(life.workload("b3")), life.recorded("workload-pending"), "status")
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/t-a/pendingworkloads"
    assert life.seen(path) == life.recorded("visibility-clusterqueue")
    life.submit("b9", 9, 3, priority_class="t-low")
    life.run(3)
    same(comparable(life.workload("b9")), life.recorded("workload-exceeds-maximum"), "status")
    life.submit("bq", 1, 3, queue_name="nowhere")
    life.run(2)
    same(comparable(life.workload("bq")), life.recorded("workload-no-localqueue"), "status")
    life.submit("r1", 2, 120, namespace="w2", priority_class="t-high")


def story(updates: list[Obj]) -> list[Any]:
    """Each update's conditions that differ from the one before, without messages' details."""
    told = [
        sorted((one["type"], one["status"], one["reason"]) for one in obj["status"]["conditions"]) for obj in updates
    ]
    return [one for number, one in enumerate(told) if number == 0 or one != told[number - 1]]


def test_a_borrower_is_reclaimed(life: Life) -> None:
    borrow_and_reclaim(life)
    victim = life.workload("b2")["metadata"]["name"]
    updates: list[Obj] = []

    def note(change: Any) -> None:
        if change.kind == "Workload" and change.name == victim:
            updates.append(change.object)

    life.cluster.store.subscribe(note)
    life.run(10)
    recorded = [event["object"] for event in life.record["watch-workloads-reclaim"]["events"]]
    assert story(updates) == story(recorded)
    seen, theirs = comparable(life.workload("b2")), life.recorded("workload-preempted")
    assert seen["status"].pop("accumulatedPastExecutionTimeSeconds") > 0
    del theirs["status"]["accumulatedPastExecutionTimeSeconds"]
    same(seen, theirs, "metadata", "status")
    same(comparable(life.workload("r1", "w2")), life.recorded("preemptor"), "metadata")
    told = [(one["reason"], one["type"]) for one in life.record["events-of-preempted"]["response"]["items"]]
    events = life.ask("GET", f"events?fieldSelector=involvedObject.name%3D{victim}").body["items"]
    assert list(dict.fromkeys((one["reason"], one["type"]) for one in events)) == list(dict.fromkeys(told))


def test_a_stopped_queue_and_a_deactivated_workload(life: Life) -> None:
    borrow_and_reclaim(life)
    life.run(12)
    queue = f"{KUEUE}/clusterqueues/t-a"
    life.ask.merge(queue, {"spec": {"stopPolicy": "Hold"}})
    life.run(2)
    same(comparable(life.workload("b3")), life.recorded("workload-in-held-queue"), "status")
    same(life.seen(queue), life.recorded("clusterqueue-held"), "status")
    name = life.workload("b1")["metadata"]["name"]
    life.ask.merge(f"{KUEUE}/namespaces/w1/workloads/{name}", {"spec": {"active": False}})
    life.run(3)
    seen, theirs = comparable(life.workload("b1")), life.recorded("workload-deactivated")
    for one in (seen, theirs):
        del one["status"]["accumulatedPastExecutionTimeSeconds"]
    same(seen, theirs, "status")
    # In the version that was recorded a stopped queue lent nothing; in the one that the model follows it does.
    life.submit("r2", 2, 120, namespace="w2")
    life.run(2)
    life.ask("POST", "/apis/apps/v1/namespaces/w2/statefulsets", life.record["statefulset-create"]["request"])
    life.run(2)
    (pod,) = life.ask("GET", "/api/v1/namespaces/w2/pods?labelSelector=app%3Dn").body["items"]
    (recorded,) = life.recorded("statefulset-pods")["items"]
    mine = comparable(pod)
    for one in (mine, recorded):
        del one["metadata"]["labels"]["controller-revision-hash"]
        del one["spec"]["volumes"], one["spec"]["containers"]
    assert mine == {field: recorded[field] for field in ("metadata", "spec", "status")}
    (theirs,) = [one for one in life.recorded("workloads-of-pod-based")["items"] if "n1" in one["metadata"]["name"]]
    same(comparable(life.workload("n1", "w2")), theirs, "metadata", "spec", "status")
    life.ask.merge("/apis/apps/v1/namespaces/w2/statefulsets/n1", {"spec": {"replicas": 0}})
    life.run(2)
    names = [one["metadata"]["name"] for one in life.seen(f"{KUEUE}/namespaces/w2/workloads")["items"]]
    names.remove("job-r2-?")
    assert names == [one["metadata"]["name"] for one in life.recorded("workloads-after-scale-zero")["items"]]
