"""Workloads themselves: into the engine and out of it, deactivation, deadlines, stopped LocalQueues, priorities."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from portal.admission import translation as specs
from portal.admission.messages import DEACTIVATED
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, find, is_true
from portal.cluster.simulated.controllers.kueue import ledger, unready
from portal.cluster.simulated.controllers.kueue.admission import COMPONENT, AdmissionController
from portal.cluster.simulated.controllers.kueue.books import Books
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, parse_timestamp
from portal.cluster.simulated.store import Change
from portal.cluster.simulated.webhooks import IN_USE_FINALIZER

_EXCEEDED = "MaximumExecutionTimeExceeded"
_EXCEEDING = "exceeding the maximum execution time"


class WorkloadController:
    """Reconciles one Workload at a time."""

    watches = ("Workload", "LocalQueue", "ClusterQueue", "WorkloadPriorityClass")

    def __init__(self, world: World, books: Books, admission: AdmissionController) -> None:
        self._world = world
        self._books = books
        self._admission = admission

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Workload":
            return [(change.namespace, change.name)]
        return [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in self._concerned(change)]

    def _concerned(self, change: Change) -> list[Obj]:
        before = change.previous if change.type == "MODIFIED" else None
        if before is not None and change.kind != "WorkloadPriorityClass" and before["spec"] == change.object["spec"]:
            return []

        def concerns(obj: Obj) -> bool:
            if change.kind == "LocalQueue":
                return (obj["metadata"]["namespace"], obj["spec"].get("queueName")) == (change.namespace, change.name)
            if change.kind == "WorkloadPriorityClass":
                return bool((obj["spec"].get("priorityClassRef") or {}).get("name") == change.name)
            return True

        return [obj for obj in self._world.store.scan("Workload") if not ledger.is_finished(obj) and concerns(obj)]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        key, engine = f"{namespace}/{name}", self._books.engine
        obj = self._world.store.get("Workload", namespace, name)
        if obj is None:
            engine.delete(key, self._books.time())
            return None
        if "deletionTimestamp" in obj["metadata"] or ledger.is_finished(obj):
            engine.finish(key, self._books.time())
            self._let_go(obj)
            return None
        if self._follow_priority(obj):
            return None
        if not obj["spec"].get("active", True):
            self._deactivate(obj)
            return None
        self._reactivate(obj)
        return self._hold(obj) if ledger.holds_quota(obj) else self._queue(obj)

    def _let_go(self, obj: Obj) -> None:
        if IN_USE_FINALIZER in (obj["metadata"].get("finalizers") or ()):
            self._world.change(obj, _without_finalizer)

    def _follow_priority(self, obj: Obj) -> bool:
        """The class's value is the Workload's, at once, running ones included."""
        ref = obj["spec"].get("priorityClassRef")
        if not ref:
            return False
        found = self._world.store.get("WorkloadPriorityClass", None, ref["name"])
        if found is None or found["value"] == obj["spec"].get("priority"):
            return False

        def write(stored: Obj) -> None:
            stored["spec"]["priority"] = found["value"]

        self._world.change(obj, write)
        return True

    # Waiting

    def _queue(self, obj: Obj) -> datetime | None:
        key, why = specs.key_of(obj), self._why_inadmissible(obj)
        queue = self._books.queue_for(obj)
        if why is not None or queue is None:
            self._books.engine.delete(key, self._books.time())
            at = self._world.stamp()
            message = why or f"LocalQueue {obj['spec'].get('queueName')} doesn't exist"
            self._status(obj, lambda stored: ledger.wait(stored, "Inadmissible", message, at))
            return None
        again = unready.tried_again_at(obj)
        if again is not None:
            if again > self._world.now():
                self._books.engine.delete(key, self._books.time())
                return again
            at = self._world.stamp()
            # Submitted in this very pass: admission runs for the change that this makes, before the next pass would.
            self._status(obj, lambda stored: unready.end_back_off(stored, at))
        spec = self._books.spec(obj, queue["metadata"]["name"])
        known = self._books.known.get(key)
        if known is not None and known != spec:
            self._books.engine.delete(key, self._books.time())
        self._books.known[key] = spec
        self._admission.write(self._books.engine.submit(spec))
        return None

    def _why_inadmissible(self, obj: Obj) -> str | None:
        name = obj["spec"].get("queueName") or ""
        local = self._world.store.get("LocalQueue", obj["metadata"]["namespace"], name)
        if local is None:
            return f"LocalQueue {name} doesn't exist"
        if local["spec"].get("stopPolicy", "None") != "None":
            return f"LocalQueue {name} is inactive"
        queue = local["spec"]["clusterQueue"]
        if self._world.store.get("ClusterQueue", None, queue) is None:
            return f"ClusterQueue {queue} doesn't exist"
        return None

    # Holding quota

    def _hold(self, obj: Obj) -> datetime | None:
        if is_true(obj["status"], "Evicted"):
            return None
        name = obj["spec"].get("queueName") or ""
        local = self._world.store.get("LocalQueue", obj["metadata"]["namespace"], name)
        if local is not None and local["spec"].get("stopPolicy") == "HoldAndDrain":
            self.evict(obj, "LocalQueueStopped", "The LocalQueue is stopped")
            return None
        self._tell_priority(obj)
        ready_by = unready.due(self._world, obj)
        if ready_by is not None and ready_by <= self._world.now():
            self._give_up_on(obj)
            return None
        looks = [at for at in (ready_by, self._watch_time(obj)) if at is not None]
        return min(looks, default=None)

    def _give_up_on(self, obj: Obj) -> None:
        """Its pods were not ready in time."""
        message = f"Exceeded the PodsReady timeout {specs.key_of(obj)}"
        self._books.engine.evict(specs.key_of(obj), unready.REASON)
        self._status(obj, lambda stored: unready.give_up(self._world, stored, message))
        self._world.event(obj, f"EvictedDueTo{unready.REASON}", message, component=COMPONENT)

    def _tell_priority(self, obj: Obj) -> None:
        """A running Workload's new priority counts for whom it may be preempted by."""
        key, queue = specs.key_of(obj), obj["status"]["admission"]["clusterQueue"]
        known, spec = self._books.known.get(key), self._books.spec(obj, queue)
        self._books.known[key] = spec
        if known is None or known.priority == spec.priority:
            return
        told = find(obj["status"], "QuotaReserved")
        reserved_at = parse_timestamp(told["lastTransitionTime"]).timestamp() if told else self._books.time()
        self._books.engine.delete(key, self._books.time())
        self._books.engine.restore_admitted(spec, specs.assignment(obj), reserved_at)

    def evict(self, obj: Obj, reason: str, message: str, *, cause: str = "") -> None:
        """Evict a Workload for a reason of its own; the engine keeps its quota until the pods are gone."""
        at = self._world.stamp()
        self._books.engine.evict(specs.key_of(obj), reason)
        self._status(obj, lambda stored: ledger.evict(stored, reason, message, at, cause=cause))
        full = f"EvictedDueTo{reason}DueTo{cause}" if cause else f"EvictedDueTo{reason}"
        self._world.event(obj, full, message, component=COMPONENT)

    def _watch_time(self, obj: Obj) -> datetime | None:
        """A maximum execution time that is over deactivates the Workload."""
        limit = obj["spec"].get("maximumExecutionTimeSeconds")
        told = find(obj["status"], "Admitted")
        if limit is None or told is None or told["status"] != TRUE:
            return None
        left = limit - obj["status"].get("accumulatedPastExecutionTimeSeconds", 0)
        due = self._world.due(parse_timestamp(told["lastTransitionTime"]), left)
        if due > self._world.now():
            return due
        at, message = self._world.stamp(), f"{_EXCEEDING[0].upper()}{_EXCEEDING[1:]}"
        self._status(obj, lambda stored: ledger.say(stored, "DeactivationTarget", TRUE, (_EXCEEDED, message), at))
        self._world.change(obj, lambda stored: stored["spec"].__setitem__("active", False))
        return None

    # Deactivated

    def _deactivate(self, obj: Obj) -> None:
        key, at = specs.key_of(obj), self._world.stamp()
        self._books.engine.set_active(key, self._books.time(), active=False)
        if is_true(obj.get("status") or {}, "Evicted") and _was_deactivated(obj):
            return
        target = is_true(obj.get("status") or {}, "DeactivationTarget")
        cause, message = (_EXCEEDED, f"{DEACTIVATED} due to {_EXCEEDING}") if target else ("", DEACTIVATED)
        held = ledger.holds_quota(obj)

        def write(stored: Obj) -> None:
            ledger.evict(stored, "Deactivated", message, at, cause=cause)
            if not held:
                reason = f"DeactivatedDueTo{cause}" if cause else "Deactivated"
                ledger.say(stored, "QuotaReserved", FALSE, ("Pending", message), at)
                ledger.say(stored, "Requeued", FALSE, (reason, message), at)

        self._status(obj, write)
        told = f"EvictedDueToDeactivatedDueTo{cause}" if cause else "EvictedDueToDeactivated"
        self._world.event(obj, told, message, component=COMPONENT)

    def _reactivate(self, obj: Obj) -> None:
        told = find(obj.get("status") or {}, "Requeued")
        if told is None or told["status"] == TRUE or not _was_deactivated(obj) or ledger.holds_quota(obj):
            return
        at = self._world.stamp()
        why = ("Reactivated", "The workload was reactivated")
        self._status(obj, lambda stored: ledger.say(stored, "Requeued", TRUE, why, at))
        self._books.engine.delete(specs.key_of(obj), self._books.time())

    def _status(self, obj: Obj, write: Callable[[Obj], object]) -> None:
        self._world.change(obj, write, status=True)


def _was_deactivated(obj: Obj) -> bool:
    told = find(obj.get("status") or {}, "Evicted")
    return told is not None and str(told["reason"]).startswith("Deactivated")


def _without_finalizer(stored: Obj) -> None:
    kept = [one for one in stored["metadata"].get("finalizers") or [] if one != IN_USE_FINALIZER]
    stored["metadata"].pop("finalizers", None)
    if kept:
        stored["metadata"]["finalizers"] = kept
