"""Kueue's integration of batch/v1 Jobs: one Workload a Job, held back by `spec.suspend`."""

from __future__ import annotations

from datetime import datetime

from portal.admission import translation as specs
from portal.cluster.simulated.controllers.conditions import find, is_true
from portal.cluster.simulated.controllers.kueue import ledger
from portal.cluster.simulated.controllers.kueue.admission import AdmissionController
from portal.cluster.simulated.controllers.kueue.create import create_workload, follow_priority_label, podset_of
from portal.cluster.simulated.controllers.kueue.marks import (
    CLUSTER_QUEUE,
    LOCAL_QUEUE,
    MAIN,
    MIN_PARALLELISM,
    PODSET,
    WORKLOAD,
    queue_of,
    workload_name,
)
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.store import Change

COMPONENT = "batch/job-kueue-controller"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_MARKS = (CLUSTER_QUEUE, LOCAL_QUEUE, PODSET)


class JobIntegration:
    """Reconciles one Job with its Workload."""

    watches = ("Job", "Workload", "WorkloadPriorityClass")

    def __init__(self, world: World, admission: AdmissionController) -> None:
        self._world = world
        self._admission = admission

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Job":
            return [(change.namespace, change.name)] if queue_of(change.object) else []
        if change.kind == "Workload":
            refs = change.object["metadata"].get("ownerReferences") or []
            return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "Job"]
        return [
            (job["metadata"]["namespace"], job["metadata"]["name"])
            for job in self._world.store.scan("Job")
            if queue_of(job) and change.type == "ADDED"
        ]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass."""
        job = self._world.store.get("Job", namespace, name)
        if job is None or queue_of(job) is None or "deletionTimestamp" in job["metadata"]:
            return None
        workload = self._world.store.get("Workload", namespace, workload_name(job))
        ended = _ended(job)
        if workload is None:
            if ended is None:
                self._create(job)
        elif ended is not None:
            self._finish(job, workload, ended)
        elif not ledger.is_finished(workload) and "deletionTimestamp" not in workload["metadata"]:
            self._steer(job, workload)
        return None

    def _create(self, job: Obj) -> None:
        if not job["spec"].get("suspend"):
            self._suspend(job, None, "Missing Workload; unable to restore pod templates")
        spec = job["spec"]
        count = min(int(spec.get("parallelism", 1)), int(spec.get("completions", spec.get("parallelism", 1))))
        podset = podset_of(spec["template"], count, INDEX_LABEL, keep_metadata=True)
        fewest = (job["metadata"].get("annotations") or {}).get(MIN_PARALLELISM, "")
        if fewest.isdecimal() and 0 < int(fewest) < count:
            podset["minCount"] = int(fewest)
        create_workload(self._world, job, podset)

    def _finish(self, job: Obj, workload: Obj, ended: tuple[str, str]) -> None:
        if ledger.is_finished(workload):
            return
        at, meta = self._world.stamp(), workload["metadata"]
        self._world.change(workload, lambda stored: ledger.finish(stored, *ended, at), status=True)
        told = f"Workload '{meta['namespace']}/{meta['name']}' is declared finished"
        self._world.event(job, "FinishedWorkload", told, component=COMPONENT)

    def _steer(self, job: Obj, workload: Obj) -> None:
        follow_priority_label(self._world, job, workload)
        self._tell_ready(job, workload)
        if ledger.must_stop(workload):
            self._stop(job, workload)
        elif ledger.is_admitted(workload):
            if job["spec"].get("suspend"):
                self._start(job, workload)
        elif not job["spec"].get("suspend"):
            self._suspend(job, workload, "Not admitted by cluster queue")

    def _tell_ready(self, job: Obj, workload: Obj) -> None:
        status, at = job.get("status") or {}, self._world.stamp()
        wanted = min(int(job["spec"].get("parallelism", 1)), int(job["spec"].get("completions", 1)))
        ready = status.get("ready", 0) + status.get("succeeded", 0) >= wanted and not job["spec"].get("suspend")
        told = find(workload.get("status") or {}, "PodsReady")
        was_ready = told is not None and told["reason"] in ("Started", "WaitForRecovery")
        failing = not ready and was_ready and ledger.is_admitted(workload)
        self._world.change(
            workload, lambda stored: ledger.pods_ready(stored, ready=ready, failing=failing, at=at), status=True
        )

    def _start(self, job: Obj, workload: Obj) -> None:
        """Unsuspend with the flavors' node labels, Kueue's marks and the admitted number of pods."""
        queue = workload["status"]["admission"]["clusterQueue"]
        selector, tolerations = flavor_placement(self._world, workload)
        count = int(workload["status"]["admission"]["podSetAssignments"][0].get("count", 1))
        marks = {CLUSTER_QUEUE: queue, LOCAL_QUEUE: queue_of(job) or "", PODSET: MAIN}

        def write(stored: Obj) -> None:
            template = stored["spec"]["template"]
            meta = template.setdefault("metadata", {})
            meta.setdefault("labels", {}).update(marks)
            meta.setdefault("annotations", {})[WORKLOAD] = workload["metadata"]["name"]
            if selector:
                template["spec"].setdefault("nodeSelector", {}).update(selector)
            if tolerations:
                template["spec"].setdefault("tolerations", []).extend(copy({"t": tolerations})["t"])
            if workload["spec"]["podSets"][0].get("minCount"):
                stored["spec"]["parallelism"] = count
            stored["spec"]["suspend"] = False

        self._world.change(job, write)
        self._world.event(job, "Started", f"Admitted by clusterQueue {queue}", component=COMPONENT)

    def _stop(self, job: Obj, workload: Obj) -> None:
        """Suspend, and give the quota back when no pod is active any more."""
        if not job["spec"].get("suspend"):
            self._suspend(job, workload, ledger.why_evicted(workload), event="Stopped")
            return
        if (job.get("status") or {}).get("active") or not is_true(job.get("status") or {}, "Suspended"):
            return
        self._admission.give_back(workload)

    def _suspend(self, job: Obj, workload: Obj | None, message: str, *, event: str = "Suspended") -> None:
        original = None if workload is None else workload["spec"]["podSets"][0]

        def write(stored: Obj) -> None:
            stored["spec"]["suspend"] = True
            if original is not None:
                _restore(stored, original)

        self._world.change(job, write)
        self._world.event(job, event, message, component=COMPONENT)


def flavor_placement(world: World, workload: Obj) -> tuple[dict[str, str], list[Obj]]:
    """(node labels, tolerations) of the flavors that a Workload was admitted with."""
    selector: dict[str, str] = {}
    tolerations: list[Obj] = []
    names = {flavor for one in specs.assignment(workload) for flavor in one.flavors.values()}
    for name in sorted(names):
        spec = (world.store.get("ResourceFlavor", None, name) or {}).get("spec") or {}
        selector.update(spec.get("nodeLabels") or {})
        tolerations.extend(spec.get("tolerations") or [])
    return selector, tolerations


def _restore(job: Obj, podset: Obj) -> None:
    """Put the template back to what it was before the start."""
    template, original = job["spec"]["template"], podset["template"]
    meta = template.get("metadata") or {}
    for mark in _MARKS:
        (meta.get("labels") or {}).pop(mark, None)
    (meta.get("annotations") or {}).pop(WORKLOAD, None)
    if "annotations" in meta and not meta["annotations"]:
        del meta["annotations"]
    for field in ("nodeSelector", "tolerations"):
        template["spec"].pop(field, None)
        if field in original["spec"]:
            template["spec"][field] = copy(original["spec"])[field]
    if podset.get("minCount"):
        job["spec"]["parallelism"] = podset["count"]


def _ended(job: Obj) -> tuple[str, str] | None:
    """(Succeeded or Failed, its message) of a Job that has ended."""
    for kind, reason in (("Complete", "Succeeded"), ("Failed", "Failed")):
        told = find(job.get("status") or {}, kind)
        if told is not None and told["status"] == "True":
            return reason, str(told.get("message", ""))
    return None
