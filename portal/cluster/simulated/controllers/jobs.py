"""The Job controller: pods of batch/v1 Jobs, their counts, and the Job's conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.controllers.birth import RETRY_SECONDS, create_pod
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, Condition
from portal.cluster.simulated.controllers.indexes import index_of, indexes_text, is_indexed, parse_indexes, set_index
from portal.cluster.simulated.controllers.podstate import is_ended, is_going, is_ready, phase
from portal.cluster.simulated.controllers.templates import pod_from
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.store import Change

TRACKING = "batch.kubernetes.io/job-tracking"
COMPONENT = "job-controller"
_FIRST_RETRY_SECONDS, _LONGEST_RETRY_SECONDS = 10, 600
_REACHED = ("CompletionsReached", "Reached expected number of succeeded pods")
_BACKOFF = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
_DEADLINE = ("DeadlineExceeded", "Job was active longer than specified deadline")


@dataclass
class _Pods:
    """A Job's pods by what they still mean for it. A tracked pod that somebody else deletes counts as failed."""

    active: list[Obj] = field(default_factory=list)
    succeeded: list[Obj] = field(default_factory=list)
    failed: list[Obj] = field(default_factory=list)
    terminating: int = 0


class JobController:
    """Reconciles one Job at a time."""

    watches = ("Job", "Pod")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Job":
            return [(change.namespace, change.name)]
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "Job"]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        job = self._world.store.get("Job", namespace, name)
        if job is None:
            self._release_orphans(namespace, name)
            return None
        pods = self._sort(job)
        status = copy(job.get("status") or {})
        self._count(job, status, pods)
        again = None
        if _finished(status):
            self._stop_all(pods)
        elif job["spec"].get("suspend"):
            self._suspend(job, status, pods)
        else:
            again = self._run(job, status, pods)
        self._write_counts(job, status, pods)
        return again

    def _sort(self, job: Obj) -> _Pods:
        pods = _Pods()
        for pod in self._world.index.children(job, "Pod"):
            if is_going(pod) and not is_ended(pod):
                pods.terminating += 1
            if TRACKING not in (pod["metadata"].get("finalizers") or ()):
                continue
            if phase(pod) == "Succeeded":
                pods.succeeded.append(pod)
            elif is_going(pod) or is_ended(pod):
                pods.failed.append(pod)
            else:
                pods.active.append(pod)
        return pods

    def _count(self, job: Obj, status: Obj, pods: _Pods) -> None:
        """Count each pod that has ended, once: its finalizer goes with the counting."""
        if pods.succeeded and is_indexed(job):
            done = parse_indexes(status.get("completedIndexes", "")) | {index_of(pod) for pod in pods.succeeded}
            status["completedIndexes"] = indexes_text(done)
            status["succeeded"] = len(done)
        elif pods.succeeded:
            status["succeeded"] = status.get("succeeded", 0) + len(pods.succeeded)
        if pods.failed:
            status["failed"] = status.get("failed", 0) + len(pods.failed)
            self._world.begin(job["metadata"]["uid"], "failure")
        if pods.succeeded or pods.failed:
            self._store_status(job, status)
        for pod in [*pods.succeeded, *pods.failed]:
            self._release(pod)

    def _suspend(self, job: Obj, status: Obj, pods: _Pods) -> None:
        self._delete_active(job, pods)
        status.pop("startTime", None)
        if self._say(status, "Suspended", TRUE, ("JobSuspended", "Job suspended")):
            self._world.event(job, "Suspended", "Job suspended", component=COMPONENT)

    def _run(self, job: Obj, status: Obj, pods: _Pods) -> datetime | None:
        self._start(job, status)
        verdict = self._verdict(job, status)
        if verdict is not None:
            self._end(job, status, pods, *verdict)
            return None
        again = [self._deadline(job)]
        wanted = self._wanted(job, status, pods)
        if wanted > 0:
            again.append(self._create_when_due(job, status, pods, wanted))
        elif wanted < 0:
            for pod in sorted(pods.active, key=is_ready)[:-wanted]:
                self._delete(job, pod)
                pods.active.remove(pod)
                pods.terminating += 1
        return min((moment for moment in again if moment is not None), default=None)

    def _start(self, job: Obj, status: Obj) -> None:
        if "startTime" not in status:
            status["startTime"] = self._world.stamp()
            self._world.begin(job["metadata"]["uid"], "start")
        if conditions.is_true(status, "Suspended"):
            self._say(status, "Suspended", FALSE, ("JobResumed", "Job resumed"))
            self._world.event(job, "Resumed", "Job resumed", component=COMPONENT)

    def _verdict(self, job: Obj, status: Obj) -> tuple[str, tuple[str, str]] | None:
        """How the Job ends, if it does: the final condition's type, and its reason and message."""
        told = conditions.find(status, "FailureTarget")
        if told is not None:
            return "Failed", (told["reason"], told["message"])
        deadline = self._deadline(job)
        if deadline is not None and deadline <= self._world.now():
            return "Failed", _DEADLINE
        if status.get("failed", 0) > job["spec"].get("backoffLimit", 6):
            return "Failed", _BACKOFF
        if status.get("succeeded", 0) >= _completions(job):
            return "Complete", _REACHED
        return None

    def _end(self, job: Obj, status: Obj, pods: _Pods, kind: str, why: tuple[str, str]) -> None:
        target = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        self._say(status, target, TRUE, why)
        self._delete_active(job, pods)
        if pods.terminating:
            return
        self._say(status, kind, TRUE, why)
        if kind == "Complete":
            status["completionTime"] = self._world.stamp()
            self._world.event(job, "Completed", "Job completed", component=COMPONENT)
        else:
            self._world.event(job, why[0], why[1], kind="Warning", component=COMPONENT)

    def _wanted(self, job: Obj, status: Obj, pods: _Pods) -> int:
        """How many pods to add (or, negative, to take away)."""
        left = _completions(job) - status.get("succeeded", 0)
        return int(min(job["spec"].get("parallelism", 1), left)) - len(pods.active)

    def _create_when_due(self, job: Obj, status: Obj, pods: _Pods, wanted: int) -> datetime | None:
        """Create the missing pods; after failures only when the backoff is over."""
        failures = status.get("failed", 0)
        if failures:
            delay = min(_FIRST_RETRY_SECONDS * 2 ** (failures - 1), _LONGEST_RETRY_SECONDS)
            due = self._world.due(self._world.moment(job["metadata"]["uid"], "failure"), delay)
            if due > self._world.now():
                return due
        for index in self._free_indexes(job, status, pods)[:wanted] if is_indexed(job) else [None] * wanted:
            created = self._create(job, index)
            if created is None:
                return self._world.due(self._world.now(), RETRY_SECONDS)
            pods.active.append(created)
        return None

    @staticmethod
    def _free_indexes(job: Obj, status: Obj, pods: _Pods) -> list[int]:
        taken = parse_indexes(status.get("completedIndexes", "")) | {index_of(pod) for pod in pods.active}
        return [index for index in range(_completions(job)) if index not in taken]

    def _create(self, job: Obj, index: int | None) -> Obj | None:
        name = job["metadata"]["name"]
        prefix = f"{name}-" if index is None else f"{name}-{index}-"
        pod = pod_from(job["spec"]["template"], job, prefix=prefix)
        pod["metadata"]["finalizers"] = [TRACKING]
        if index is not None:
            set_index(pod, name, index)
        return create_pod(self._world, job, pod, COMPONENT)

    def _deadline(self, job: Obj) -> datetime | None:
        seconds, uid = job["spec"].get("activeDeadlineSeconds"), job["metadata"]["uid"]
        if seconds is None:
            return None
        return self._world.due(self._world.moment(uid, "start", (job.get("status") or {}).get("startTime")), seconds)

    def _delete_active(self, job: Obj, pods: _Pods) -> None:
        for pod in pods.active:
            self._release(pod)
            self._delete(job, pod)
        pods.terminating += len(pods.active)
        pods.active = []

    def _delete(self, job: Obj, pod: Obj) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        self._world.store.delete("Pod", namespace, name, uid=pod["metadata"]["uid"])
        self._world.event(job, "SuccessfulDelete", f"Deleted pod: {name}", component=COMPONENT)

    def _stop_all(self, pods: _Pods) -> None:
        for pod in pods.active:
            self._release(pod)

    def _release(self, pod: Obj) -> None:
        meta = pod["metadata"]
        self._world.store.mutate("Pod", meta["namespace"], meta["name"], _without_tracking)

    def _release_orphans(self, namespace: str, job_name: str) -> None:
        """Pods of a Job that is gone must not be held by its finalizer."""
        label = {"batch.kubernetes.io/job-name": job_name}
        for pod in self._world.store.list("Pod", namespace, label):
            if TRACKING in (pod["metadata"].get("finalizers") or ()):
                self._release(pod)

    def _say(self, status: Obj, kind: str, value: str, why: tuple[str, str]) -> bool:
        at = self._world.stamp()
        return conditions.put(status, Condition(kind, value, *why, extra=(("lastProbeTime", at),)), at)

    def _write_counts(self, job: Obj, status: Obj, pods: _Pods) -> None:
        if not status and not pods.active:
            return
        alive = {"active": len(pods.active), "ready": sum(map(is_ready, pods.active)), "terminating": pods.terminating}
        status.update(alive)
        if not pods.active:
            status.pop("active")
        status["uncountedTerminatedPods"] = {}
        self._store_status(job, status)

    def _store_status(self, job: Obj, status: Obj) -> None:
        self._world.store_status(job, status)


def _completions(job: Obj) -> int:
    spec = job["spec"]
    return int(spec.get("completions", spec.get("parallelism", 1)))


def _finished(status: Obj) -> bool:
    return conditions.is_true(status, "Complete") or conditions.is_true(status, "Failed")


def _without_tracking(pod: Obj) -> None:
    kept = [one for one in pod["metadata"].get("finalizers") or [] if one != TRACKING]
    pod["metadata"].pop("finalizers", None)
    if kept:
        pod["metadata"]["finalizers"] = kept
