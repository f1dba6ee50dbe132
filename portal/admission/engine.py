"""The engine: Kueue's admission as a state machine. Events go in, decisions come out; it has no clock of its own.

Kueue's scheduler works in cycles. `cycle(now)` runs them until something is decided; call it until it answers
nothing. Workloads that were rejected are parked until capacity may have come back somewhere in their cohort, and then
one second more (Kueue's batch): `next_due()` says when that is. Evicted workloads keep their quota until `release`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from portal.admission import messages
from portal.admission.decisions import Decision, Evict, EvictionReason, PendingReason
from portal.admission.judging import Judge
from portal.admission.model import (
    ClusterQueueSpec,
    CohortSpec,
    FairSharing,
    PodSetAssignment,
    StopPolicy,
    WorkloadSpec,
)
from portal.admission.queue import Queue
from portal.admission.rounds import next_decisions
from portal.admission.state import State
from portal.admission.workloads import Holder

# A workload that is preempted this often without anything else happening is in one of Kueue's preemption loops.
LOOP_EVICTIONS = 8


def plain_amount(_resource: str, amount: int) -> str:
    """An amount as it stands."""
    return str(amount)


@dataclass(frozen=True, slots=True)
class Settled:
    """What `Engine.settle` saw: decisions with their times, when it came to rest, and whether it gave up on a loop."""

    decisions: list[tuple[float, Decision]]
    ended_at: float
    looping: bool = False


class Engine:
    """One Kueue. `text` writes amounts into messages; `instant_release` gives a victim's quota back by itself.

    With `instant_release`, quota comes back as soon as no cycle changes anything, that of the first evicted first: as
    in a cluster whose pods take no time to stop. Without `explains` there are no Pending decisions, which saves most of
    the work. No method does I/O or raises for unknown keys; unknown ones are ignored.
    """

    def __init__(
        self,
        fair_sharing: FairSharing | None = None,
        *,
        text: Callable[[str, int], str] = plain_amount,
        instant_release: bool = False,
        explains: bool = True,
    ) -> None:
        self._state = State(fair_sharing, text, explains=explains)
        self._instant = instant_release

    def set_fair_sharing(self, fair_sharing: FairSharing | None, now: float) -> None:
        """Turn fair sharing on, off, or to other strategies; everything waiting is looked at again."""
        self._state.judge = Judge(self._state.forest, fair_sharing)
        self._state.forest.restamp()
        for queue in self._state.forest.queues.values():
            self._state.notify(queue, now)
        self._state.touch()

    def upsert_queue(self, spec: ClusterQueueSpec, now: float) -> list[Decision]:
        """Add or change a ClusterQueue. Stopping it answers for its waiting and, when drained, running workloads."""
        state = self._state
        known = state.forest.queues.get(spec.name)
        if known is not None and known.spec == spec:
            return []
        before = StopPolicy.NONE if known is None else known.spec.stop_policy
        queue = state.forest.put_queue(spec)
        if known is None:
            for workload in state.workloads.values():
                if workload.queue == spec.name and workload.key not in state.inactive:
                    queue.line.push(workload)
        state.notify(queue, now)
        state.ready[spec.name] = queue
        state.touch()
        return [] if spec.stop_policy is before else self._stop_or_start(queue)

    def _stop_or_start(self, queue: Queue) -> list[Decision]:
        state = self._state
        decisions: list[Decision] = []
        if queue.spec.stop_policy is StopPolicy.NONE:
            for workload in queue.line.in_order():
                if workload.key in queue.line.blocked:
                    queue.line.unblock(workload)
            return decisions
        if queue.spec.stop_policy is StopPolicy.HOLD_AND_DRAIN:
            running = [holder for holder in queue.holders.values() if holder.key not in state.forest.leaving]
            decisions += [state.evict(holder, EvictionReason.CLUSTER_QUEUE_STOPPED) for holder in running]
        message = messages.queue_inactive(queue.spec.name)
        for workload in queue.line.in_order():
            decisions += state.explain(workload.key, message, PendingReason.INADMISSIBLE)
        return decisions

    def delete_queue(self, name: str, now: float) -> None:
        """Remove a ClusterQueue; those waiting in it wait for it to come back, those running in it are forgotten."""
        state = self._state
        queue = state.forest.queues.get(name)
        if queue is not None:
            state.notify(queue, now)
            for holder in queue.holders.values():
                state.forget(holder.workload)
                state.forest.leaving.pop(holder.key, None)
            del state.forest.queues[name]
            state.ready.pop(name, None)
            state.forest.rebuild()
            state.touch()

    def upsert_cohort(self, spec: CohortSpec, now: float) -> None:
        """Add or change a Cohort object."""
        if self._state.forest.cohort_specs.get(spec.name) != spec:
            self._state.forest.cohort_specs[spec.name] = spec
            self._cohorts_changed(now)

    def delete_cohort(self, name: str, now: float) -> None:
        """Remove a Cohort object; its members stay together under its name."""
        if self._state.forest.cohort_specs.pop(name, None) is not None:
            self._cohorts_changed(now)

    def _cohorts_changed(self, now: float) -> None:
        self._state.forest.rebuild()
        for queue in self._state.forest.queues.values():
            if queue.spec.cohort is not None:
                self._state.notify(queue, now)
        # A loop may be cut now: queues that were inactive may have heads.
        self._state.ready = dict(self._state.forest.queues)
        self._state.touch()

    def submit(self, spec: WorkloadSpec) -> list[Decision]:
        """Let a workload wait for quota. A key that is known already is left as it is."""
        state = self._state
        if spec.key in state.workloads or spec.key in state.finished:
            return []
        workload = state.workloads[spec.key] = state.forest.workload(spec)
        return state.enqueue(workload)

    def restore_admitted(
        self, spec: WorkloadSpec, assignment: tuple[PodSetAssignment, ...], reserved_at: float
    ) -> None:
        """Take over a workload that holds quota already (after a restart), as it was admitted then."""
        state = self._state
        queue = state.forest.queues[spec.queue]
        workload = state.workloads[spec.key] = state.forest.workload(spec)
        requests = {podset.name: podset.requests for podset in spec.podsets}
        usage: dict[int, int] = {}
        for held in assignment:
            for resource, flavor in held.flavors.items():
                cell = state.forest.cells.number(flavor, resource)
                each = 1 if resource == "pods" else requests[held.name].get(resource, 0)
                usage[cell] = usage.get(cell, 0) + each * held.count
        if len(state.forest.cells.names) > len(queue.node.usage):
            state.forest.rebuild()
        state.hold(workload, assignment, usage, reserved_at)
        for cell, amount in usage.items():
            queue.node.add(cell, amount)
        state.touch()

    def finish(self, key: str, now: float) -> None:
        """The workload ended, whether it ran or still waited."""
        if self._drop(key, now):
            self._state.finished.add(key)

    def delete(self, key: str, now: float) -> None:
        """The workload is gone from the cluster."""
        if not self._drop(key, now):
            self._state.finished.discard(key)

    def _drop(self, key: str, now: float) -> bool:
        workload = self._state.workloads.get(key)
        if workload is None:
            return False
        self._state.leave(workload, now)
        self._state.forget(workload)
        return True

    def set_active(self, key: str, now: float, *, active: bool) -> list[Decision]:
        """Activate a workload, or deactivate it.

        As in Kueue, a running one gives its quota back at once and a waiting one counts as evicted too (once).
        """
        state = self._state
        workload = state.workloads.get(key)
        if workload is None or (key not in state.inactive) is active:
            return []
        if active:
            state.inactive.discard(key)
            return state.enqueue(workload)
        stands = key in state.evicted
        held = state.leave(workload, now)
        state.inactive.add(key)
        state.evicted.add(key)
        queue = state.forest.queues.get(workload.queue)
        if queue is not None:
            queue.line.blocked.discard(key)
        decisions: list[Decision] = [] if stands else [Evict(key, EvictionReason.DEACTIVATED)]
        return decisions + (state.explain(key, messages.DEACTIVATED) if held else [])

    def evict(self, key: str, reason: str) -> list[Decision]:
        """Evict a running workload for a reason outside admission (a lost node, pods never ready)."""
        holder = self._holder(key)
        if holder is None or key in self._state.forest.leaving:
            return []
        return [self._state.evict(holder, reason)]

    def _holder(self, key: str) -> Holder | None:
        workload = self._state.workloads.get(key)
        queue = None if workload is None else self._state.forest.queues.get(workload.queue)
        return None if queue is None else queue.holders.get(key)

    def release(self, key: str, now: float) -> list[Decision]:
        """An evicted workload's pods are gone: its quota is free and it waits again, at its old place."""
        holder = self._state.forest.leaving.get(key)
        return [] if holder is None else self._state.release(holder, now)

    def cycle(self, now: float) -> list[Decision]:
        """Run cycles until something is decided; an empty answer means: nothing new before `next_due()`."""
        decisions = next_decisions(self._state, now)
        if decisions or not self._instant:
            return decisions
        leaving = self._state.next_to_leave()
        return [decision for holder in leaving for decision in self._state.release(holder, now)]

    def next_due(self) -> float | None:
        """When parked workloads come back next, or None while nothing is scheduled."""
        due = self._state.due
        return min(due.values()) if due else None

    def settle(self, now: float) -> Settled:
        """Cycle until nothing is left to do, passing over the time until each batch; for tests and forecasts.

        Stops at a preemption loop, where workloads evict each other for ever.
        """
        seen: list[tuple[float, Decision]] = []
        preempted: dict[str, int] = {}
        while True:
            while decisions := self.cycle(now):
                seen += [(now, decision) for decision in decisions]
                for decision in decisions:
                    if isinstance(decision, Evict) and decision.by is not None:
                        preempted[decision.key] = preempted.get(decision.key, 0) + 1
                if max(preempted.values(), default=0) > LOOP_EVICTIONS:
                    return Settled(seen, now, looping=True)
            due = self.next_due()
            if due is None:
                return Settled(seen, now)
            now = max(now, due)

    def pending_order(self, queue: str) -> list[str]:
        """The keys of everything waiting in a queue, parked or not, in the order in which it would be tried."""
        known = self._state.forest.queues.get(queue)
        return [] if known is None else [workload.key for workload in known.line.in_order()]

    def holding(self) -> list[str]:
        """The keys of everything that runs: holds quota and has not been told to go."""
        forest = self._state.forest
        return [key for queue in forest.queues.values() for key in queue.holders if key not in forest.leaving]

    def usage(self, queue: str) -> dict[str, dict[str, tuple[int, int]]]:
        """What a queue has booked: `{flavor: {resource: (total, of it borrowed)}}` for each of its quotas."""
        known = self._state.forest.queues.get(queue)
        usage: dict[str, dict[str, tuple[int, int]]] = {}
        for plan in () if known is None else known.plans:
            for flavor, cells in plan.flavors:
                usage[flavor] = {name: self._booked(known, cell) for name, cell in cells.items()} if known else {}
        return usage

    @staticmethod
    def _booked(queue: Queue, cell: int) -> tuple[int, int]:
        total = queue.node.usage[cell]
        return total, 0 if queue.node.parent is None else max(0, total - queue.node.nominal[cell])

    def maximum(self, queue: str, flavor: str, resource: str) -> int:
        """The most that one workload could ever have there, with everything that may be borrowed; 0 if unknown."""
        known = self._state.forest.queues.get(queue)
        cell = self._state.forest.cells.numbers.get((flavor, resource))
        return 0 if known is None or cell is None else known.node.maximum(cell)

    def available(self, queue: str, flavor: str, resource: str) -> int:
        """What a new workload could have there now without evicting anybody; 0 if unknown."""
        known = self._state.forest.queues.get(queue)
        cell = self._state.forest.cells.numbers.get((flavor, resource))
        return 0 if known is None or cell is None else known.node.available(cell)

    def path(self, queue: str) -> str:
        """The queue's place in the cohorts, as in Kueue's preemption messages: `/root/cohort/queue`."""
        known = self._state.forest.queues.get(queue)
        above = [] if known is None else [node.name for node in known.node.path()]
        return "/" + "/".join([*reversed(above), queue])

    def fork(self, *, explains: bool = True, instant_release: bool = False) -> "Engine":
        """An independent copy, to try out what would happen. It forgets what has finished."""
        twin = Engine(instant_release=instant_release)
        twin._state = self._state.copy()
        twin._state.explains = explains
        return twin
