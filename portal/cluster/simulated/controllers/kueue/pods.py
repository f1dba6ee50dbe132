"""Kueue's integration of pods: one Workload for a pod of a Deployment, one for all pods of a StatefulSet."""

from __future__ import annotations

from datetime import datetime

from portal.cluster.simulated.controllers import containers
from portal.cluster.simulated.controllers.conditions import TRUE, find
from portal.cluster.simulated.controllers.kueue import ledger
from portal.cluster.simulated.controllers.kueue.admission import AdmissionController
from portal.cluster.simulated.controllers.kueue.create import create_workload, follow_priority_label, podset_of
from portal.cluster.simulated.controllers.kueue.jobs import flavor_placement
from portal.cluster.simulated.controllers.kueue.marks import (
    CLUSTER_QUEUE,
    GROUP_NAME,
    LOCAL_QUEUE,
    MAIN,
    PODSET,
    owner_ref,
    queue_of,
    workload_name,
)
from portal.cluster.simulated.controllers.podstate import is_ended, is_gated, is_going, is_ready, phase
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.store import Change
from portal.cluster.simulated.webhooks import GATES, MANAGED_FINALIZER

COMPONENT = "pod-kueue-controller"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"


class PodIntegration:
    """Reconciles one gated pod, outside groups, with its Workload."""

    watches = ("Pod", "Workload")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Pod":
            return [(change.namespace, change.name)] if _is_single(change.object) else []
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "Pod" and ref.get("controller")]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass."""
        pod = self._world.store.get("Pod", namespace, name)
        if pod is None or not _is_single(pod):
            return None
        workload = self._world.store.get("Workload", namespace, workload_name(pod))
        if is_going(pod) or is_ended(pod):
            self._end(pod, workload)
        elif workload is None:
            create_workload(self._world, pod, podset_of(_ungated(pod), 1, "", keep_metadata=False))
        elif "deletionTimestamp" not in workload["metadata"]:
            _steer(self._world, workload, [pod], count=1)
        return None

    def _end(self, pod: Obj, workload: Obj | None) -> None:
        """The pod has ended or is being deleted: its Workload is finished, or goes with it; Kueue lets it go."""
        if MANAGED_FINALIZER in (pod["metadata"].get("finalizers") or ()):
            self._world.change(pod, _without_finalizer)
        if workload is None or ledger.is_finished(workload) or not is_ended(pod) or is_going(pod):
            return
        at = self._world.stamp()
        reason = "Succeeded" if phase(pod) == "Succeeded" else "Failed"
        told = str((pod.get("status") or {}).get("message") or "Pod has ended")
        self._world.change(workload, lambda stored: ledger.finish(stored, reason, told, at), status=True)


class GroupIntegration:
    """Reconciles one StatefulSet's pods with their common Workload. Keys are the set's names."""

    watches = ("StatefulSet", "Pod", "Workload")

    def __init__(self, world: World, admission: AdmissionController) -> None:
        self._world = world
        self._admission = admission

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "StatefulSet":
            return [(change.namespace, change.name)] if queue_of(change.object) else []
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "StatefulSet"]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass."""
        owner = self._world.store.get("StatefulSet", namespace, name)
        if owner is None or queue_of(owner) is None or "deletionTimestamp" in owner["metadata"]:
            return None
        pods = list(self._world.index.children(owner, "Pod"))
        count = int(owner["spec"].get("replicas", 1))
        workload = self._world.store.get("Workload", namespace, workload_name(owner))
        if workload is None:
            if count:
                self._create(owner, count)
            return None
        if "deletionTimestamp" in workload["metadata"]:
            return None
        if not count:
            if not pods:
                self._world.store.delete("Workload", namespace, workload["metadata"]["name"])
            return None
        self._own(workload, pods)
        follow_priority_label(self._world, owner, workload)
        if ledger.must_stop(workload):
            self._stop(workload, pods)
        else:
            _steer(self._world, workload, [pod for pod in pods if not is_going(pod)], count=count)
        return None

    def _create(self, owner: Obj, count: int) -> None:
        annotations = {
            "kueue.x-k8s.io/is-group-workload": "true",
            "kueue.x-k8s.io/job-owner-gvk": "apps/v1, Kind=StatefulSet",
            "kueue.x-k8s.io/job-owner-name": owner["metadata"]["name"],
        }
        podset = podset_of(owner["spec"]["template"], count, _INDEX_LABEL, keep_metadata=False)
        create_workload(self._world, owner, podset, controller=False, annotations=annotations)

    def _own(self, workload: Obj, pods: list[Obj]) -> None:
        """The group's pods own the Workload too: it stays until the last of them is gone."""
        known = {ref["uid"] for ref in workload["metadata"].get("ownerReferences") or []}
        missing = [pod for pod in pods if pod["metadata"]["uid"] not in known]
        if missing:
            refs = [owner_ref(pod, controller=False) for pod in missing]
            self._world.change(workload, lambda stored: stored["metadata"]["ownerReferences"].extend(refs))

    def _stop(self, workload: Obj, pods: list[Obj]) -> None:
        """Delete the pods that run; when they are gone, give the quota back. Their successors wait, gated."""
        running = [pod for pod in pods if not is_gated(pod)]
        for pod in running:
            if not is_going(pod):
                _delete(self._world, pod, ledger.why_evicted(workload))
        if not running:
            self._admission.give_back(workload)


def _steer(world: World, workload: Obj, pods: list[Obj], *, count: int) -> None:
    at = world.stamp()
    if ledger.must_stop(workload):
        for pod in pods:
            _delete(world, pod, ledger.why_evicted(workload))
        return
    ready = sum(map(is_ready, pods)) >= count
    told = find(workload.get("status") or {}, "PodsReady")
    was_ready = told is not None and told["reason"] in ("Started", "WaitForRecovery")
    failing = not ready and was_ready and ledger.is_admitted(workload)
    world.change(workload, lambda stored: ledger.pods_ready(stored, ready=ready, failing=failing, at=at), status=True)
    if ledger.is_admitted(workload):
        for pod in pods:
            if is_gated(pod):
                _admit(world, workload, pod)


def _admit(world: World, workload: Obj, pod: Obj) -> None:
    """Open the gates, with the flavors' node labels and Kueue's marks."""
    queue = workload["status"]["admission"]["clusterQueue"]
    selector, tolerations = flavor_placement(world, workload)
    marks = {CLUSTER_QUEUE: queue, LOCAL_QUEUE: workload["spec"].get("queueName") or "", PODSET: MAIN}

    def write(stored: Obj) -> None:
        stored["metadata"].setdefault("labels", {}).update(marks)
        spec = stored["spec"]
        if selector:
            spec.setdefault("nodeSelector", {}).update(selector)
        spec.setdefault("tolerations", []).extend(copy({"t": tolerations})["t"])
        kept = [gate for gate in spec.get("schedulingGates") or [] if gate["name"] not in GATES]
        spec.pop("schedulingGates", None)
        if kept:
            spec["schedulingGates"] = kept

    world.change(pod, write)
    world.event(pod, "Started", f"Admitted by clusterQueue {queue}", component=COMPONENT)


def _delete(world: World, pod: Obj, message: str) -> None:
    """Preemption deletes a pod; whoever owns it makes a new one, which waits."""
    at, meta = world.stamp(), pod["metadata"]
    world.change(
        pod,
        lambda stored: containers.say(stored["status"], "TerminationTarget", TRUE, "WorkloadEvicted", message, at),
        status=True,
    )
    world.event(pod, "Stopped", message, component=COMPONENT)
    world.store.delete("Pod", meta["namespace"], meta["name"], uid=meta["uid"])


def _is_single(pod: Obj) -> bool:
    return queue_of(pod) is not None and GROUP_NAME not in (pod["metadata"].get("labels") or {})


def _ungated(pod: Obj) -> Obj:
    spec = {field: value for field, value in pod["spec"].items() if field not in ("schedulingGates", "nodeName")}
    return {"metadata": {}, "spec": spec}


def _without_finalizer(stored: Obj) -> None:
    kept = [one for one in stored["metadata"].get("finalizers") or [] if one != MANAGED_FINALIZER]
    stored["metadata"].pop("finalizers", None)
    if kept:
        stored["metadata"]["finalizers"] = kept
