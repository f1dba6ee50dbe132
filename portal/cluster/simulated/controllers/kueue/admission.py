"""Kueue's scheduler: run the engine's cycles and write down what they decide."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from portal.admission import Admit, Decision, Evict, Pending
from portal.admission import translation as specs
from portal.admission.messages import QUEUE_STOPPED, preempted
from portal.cluster.simulated.controllers.conditions import find
from portal.cluster.simulated.controllers.kueue import ledger
from portal.cluster.simulated.controllers.kueue.books import Books
from portal.cluster.simulated.controllers.kueue.marks import JOB_UID
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, parse_timestamp
from portal.cluster.simulated.store import Change

COMPONENT = "kueue-admission"
_ONE = ("", "")
_CYCLES = 10_000


class AdmissionController:
    """One pass runs cycles until nothing more is decided."""

    watches = ("Workload", "ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor")

    def __init__(self, world: World, books: Books) -> None:
        self._world = world
        self._books = books

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        return [_ONE]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """Returns when parked work comes back."""
        for _ in range(_CYCLES):
            decisions = self._books.engine.cycle(self._books.time())
            if not decisions:
                break
            self.write(decisions)
        return self._books.next_due()

    def write(self, decisions: list[Decision]) -> None:
        """Write decisions into their Workloads, in their order."""
        for decision in decisions:
            namespace, _, name = decision.key.partition("/")
            obj = self._world.store.get("Workload", namespace, name)
            if obj is None:
                continue
            if isinstance(decision, Admit):
                self._admit(obj, decision)
            elif isinstance(decision, Evict):
                self.evict(obj, decision)
            elif isinstance(decision, Pending):
                self._wait(obj, decision)

    def _admit(self, obj: Obj, decision: Admit) -> None:
        at = self._world.stamp()
        queued = find(obj.get("status") or {}, "Requeued")
        since = queued["lastTransitionTime"] if queued is not None else obj["metadata"]["creationTimestamp"]
        waited = int((self._world.now() - parse_timestamp(since)).total_seconds())
        flavors = sorted({flavor for one in decision.assignment for flavor in one.flavors.values()})
        self._put(obj, lambda stored: ledger.admit(stored, decision, at))
        told = f"Quota reserved in ClusterQueue {decision.queue}, wait time since queued was {max(waited, 0)}s"
        considered = "; ".join(
            f"{one.name}: {', '.join(f'{flavor}(Fit)' for flavor in flavors)}" for one in decision.assignment
        )
        self._event(obj, "QuotaReserved", f"{told}; Flavors considered: {considered}")
        self._event(obj, "Admitted", f"Admitted by ClusterQueue {decision.queue}, wait time since reservation was 0s")

    def evict(self, obj: Obj, decision: Evict) -> None:
        """Write an eviction that the engine has decided or carried out."""
        at, kind = self._world.stamp(), str(decision.preempted_reason or "")
        message = self._message(obj, decision)
        self._put(obj, lambda stored: ledger.evict(stored, decision.reason, message, at, preempted=kind))
        self._event(obj, f"EvictedDueTo{decision.reason}", message)
        if decision.by is not None:
            self._event(obj, "Preempted", f"{message}; {self._priorities(obj, decision.by)}")

    def give_back(self, obj: Obj) -> None:
        """The evicted Workload's pods are gone: release its quota, in its status and in the engine."""
        at, now = self._world.stamp(), self._world.now()
        self._put(obj, lambda stored: ledger.release(stored, now, at))
        self.write(self._books.engine.release(specs.key_of(obj), self._books.time()))

    def _message(self, obj: Obj, decision: Evict) -> str:
        if decision.preempted_reason is None or decision.by is None:
            return (
                QUEUE_STOPPED
                if decision.reason == "ClusterQueueStopped"
                else f"The workload is evicted: {decision.reason}"
            )
        by = self._find(decision.by)
        engine, victim_queue = self._books.engine, obj["status"]["admission"]["clusterQueue"]
        found = None if by is None else self._books.queue_for(by)
        by_queue = victim_queue if found is None else found["metadata"]["name"]
        uid = "UNKNOWN" if by is None else by["metadata"]["uid"]
        job_uid = "UNKNOWN" if by is None else (by["metadata"].get("labels") or {}).get(JOB_UID, "UNKNOWN")
        return preempted(uid, job_uid, decision.preempted_reason, engine.path(by_queue), engine.path(victim_queue))

    def _priorities(self, victim: Obj, by_key: str) -> str:
        by = self._find(by_key)
        theirs = 0 if by is None else by["spec"].get("priority", 0)
        ours = victim["spec"].get("priority", 0)
        return (
            f"preemptor effective priority: {theirs} (base: {theirs}, boost: 0); "
            f"preemptee effective priority: {ours} (base: {ours}, boost: 0)"
        )

    def _wait(self, obj: Obj, decision: Pending) -> None:
        at, changed = self._world.stamp(), False

        def write(stored: Obj) -> None:
            nonlocal changed
            changed = ledger.wait(stored, decision.reason, decision.message, at)

        self._put(obj, write)
        if changed:
            self._event(obj, "Pending", decision.message, kind="Warning")

    def _find(self, key: str) -> Obj | None:
        namespace, _, name = key.partition("/")
        return self._world.store.get("Workload", namespace, name)

    def _put(self, obj: Obj, write: Callable[[Obj], object]) -> None:
        self._world.change(obj, write, status=True)

    def _event(self, obj: Obj, reason: str, message: str, *, kind: str = "Normal") -> None:
        self._world.event(obj, reason, message, kind=kind, component=COMPONENT)
