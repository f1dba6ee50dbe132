"""The engine's state, and the moves of a workload between waiting, holding quota and having left."""

from collections.abc import Callable

from portal.admission import messages
from portal.admission.decisions import Decision, Evict, EvictionReason, Pending, PendingReason, Released
from portal.admission.forest import Forest, Root
from portal.admission.judging import Judge
from portal.admission.model import FairSharing, PodSetAssignment
from portal.admission.queue import Queue
from portal.admission.texts import AmountText
from portal.admission.workloads import FlavorScan, Holder, Workload

REQUEUE_BATCH_SECONDS = 1.0


class State:
    """Everything an engine knows. `dirty`: the next cycle could decide something that the last one did not.

    A workload is in its queue's line or among its holders, or inactive. It stays in `workloads` until it is finished.
    """

    def __init__(self, fair: FairSharing | None, text: Callable[[str, int], str], *, explains: bool) -> None:
        self.explains = explains
        self.format = text
        self.forest = Forest()
        self.judge = Judge(self.forest, fair)
        self.workloads: dict[str, Workload] = {}
        self.finished: set[str] = set()
        self.inactive: set[str] = set()
        # Those whose last eviction has not been followed by an admission.
        self.evicted: set[str] = set()
        # The cycle in which (or after which) those who must go were told so.
        self.told: dict[str, int] = {}
        # Where the search for flavors goes on, for those whose last one did not come to the last flavor.
        self.scans: dict[str, FlavorScan] = {}
        # The last message and reason.
        self.messages: dict[str, tuple[str, PendingReason]] = {}
        self.due: dict[Root, float] = {}
        self.number = 0
        self.dirty = False
        self.idle_rounds = 0
        # Queues that may have a head; a dict as an ordered set.
        self.ready: dict[str, Queue] = {}

    @property
    def text(self) -> AmountText | None:
        """The writer of amounts into messages, if anybody reads them."""
        return AmountText(self.forest.cells.names, self.format) if self.explains else None

    def touch(self) -> None:
        """Something changed that a cycle may answer to."""
        self.dirty = True
        self.idle_rounds = 0

    def notify(self, queue: Queue, now: float) -> None:
        """Un-park the queue's whole tree with the next batch."""
        if not queue.in_cycle:
            self.due.setdefault(queue.tree.name, now + REQUEUE_BATCH_SECONDS)

    def due_trees(self, now: float) -> list[Root]:
        """The trees whose batch is due, taken off the list."""
        roots = [root for root, due in self.due.items() if due <= now]
        for root in roots:
            del self.due[root]
        return roots

    def unpark(self, queue: Queue) -> None:
        """Make everything parked in a queue eligible again."""
        if queue.line.unpark():
            self.ready[queue.spec.name] = queue
            self.touch()

    def enqueue(self, workload: Workload) -> list[Decision]:
        """Let a workload wait in its queue, at the place that its priority and age give it."""
        name = workload.queue
        queue = self.forest.queues.get(name)
        if queue is None:
            return self.explain(workload.key, messages.queue_missing(name), PendingReason.INADMISSIBLE)
        queue.line.push(workload)
        self.ready[name] = queue
        self.touch()
        if not queue.active:
            return self.explain(workload.key, messages.queue_inactive(name), PendingReason.INADMISSIBLE)
        return []

    def hold(
        self,
        workload: Workload,
        assignment: tuple[PodSetAssignment, ...],
        usage: dict[int, int],
        reserved_at: float,
    ) -> None:
        """Note what a workload holds from now on; its usage is booked by the caller."""
        key = workload.key
        if self.scans:
            self.scans.pop(key, None)
        if self.messages:
            self.messages.pop(key, None)
        if self.evicted:
            self.evicted.discard(key)
            self.told.pop(key, None)
        self.forest.queues[workload.queue].line.remove(key)
        self.forest.hold(Holder(workload, assignment, usage, reserved_at))

    def leave(self, workload: Workload, now: float) -> bool:
        """Take a workload out of its queue's line or holders, with its usage; whether it held quota."""
        key = workload.key
        if self.scans:
            self.scans.pop(key, None)
        queue = self.forest.queues.get(workload.queue)
        if queue is None:
            return False
        held = self.forest.let_go(queue, key)
        if not held:
            queue.line.remove(key)
        self.notify(queue, now)
        self.touch()
        return held

    def evict(self, holder: Holder, reason: str) -> Evict:
        """Mark a running workload as told to go; drained ones wait until their queue starts again."""
        self.tell_to_go(holder)
        if reason == EvictionReason.CLUSTER_QUEUE_STOPPED:
            self.forest.queues[holder.queue].line.blocked.add(holder.key)
        self.touch()
        return Evict(holder.key, reason)

    def tell_to_go(self, holder: Holder) -> None:
        """From now on the workload only holds quota until its pods are gone."""
        self.evicted.add(holder.key)
        self.told[holder.key] = self.number
        self.forest.tell_to_go(holder)

    def next_to_leave(self) -> list[Holder]:
        """Those who were told to go together, before all others who still hold quota."""
        leaving = self.forest.leaving
        if not leaving:
            return []
        first = min(self.told[key] for key in leaving)
        return [holder for key, holder in leaving.items() if self.told[key] == first]

    def release(self, holder: Holder, now: float) -> list[Decision]:
        """Take the quota of an evicted workload back and let it wait again."""
        self.leave(holder.workload, now)
        queue = self.forest.queues[holder.queue]
        if not queue.stopped:
            queue.line.blocked.discard(holder.key)
        return [Released(holder.key), *self.enqueue(holder.workload)]

    def explain(self, key: str, message: str, reason: PendingReason = PendingReason.PENDING) -> list[Decision]:
        """A Pending decision, unless it would repeat the workload's last one."""
        if not self.explains or self.messages.get(key) == (message, reason):
            return []
        self.messages[key] = message, reason
        return [Pending(key, message, reason)]

    def forget(self, workload: Workload) -> None:
        """Drop what is kept about a workload that is gone."""
        key = workload.key
        del self.workloads[key]
        self.messages.pop(key, None)
        self.evicted.discard(key)
        self.told.pop(key, None)
        self.inactive.discard(key)
        queue = self.forest.queues.get(workload.queue)
        if queue is not None and queue.line.blocked:
            queue.line.blocked.discard(key)

    def copy(self) -> "State":
        """An independent copy, which forgets what has finished."""
        twin = State(self.judge.fair, self.format, explains=self.explains)
        twin.forest = self.forest.copy()
        twin.judge = Judge(twin.forest, self.judge.fair)
        twin.workloads = dict(self.workloads)
        twin.inactive, twin.evicted = set(self.inactive), set(self.evicted)
        twin.scans, twin.messages = dict(self.scans), dict(self.messages)
        twin.due, twin.told = dict(self.due), dict(self.told)
        twin.number, twin.dirty, twin.idle_rounds = self.number, self.dirty, self.idle_rounds
        twin.ready = {name: twin.forest.queues[name] for name in self.ready if name in twin.forest.queues}
        return twin
