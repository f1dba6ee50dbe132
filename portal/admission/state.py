"""The engine's state, and the moves of a workload between waiting, holding quota and having left."""

from collections.abc import Callable

from portal.admission import messages
from portal.admission.decisions import Decision, Evict, EvictionReason, Pending, PendingReason, Released
from portal.admission.flavors import AmountText, Unsaid
from portal.admission.model import FairSharing, PodSetAssignment, StopPolicy
from portal.admission.tree import Forest, Queue
from portal.admission.workloads import Phase, Workload

REQUEUE_BATCH_SECONDS = 1.0

Root = tuple[str, str]


class State:
    """Everything an engine knows. `dirty`: the next cycle could decide something that the last one did not."""

    def __init__(self, fair: FairSharing | None, text: Callable[[str, int], str], *, explains: bool) -> None:
        self.fair = fair
        self.explains = explains
        self.format = text
        self.forest = Forest()
        self.workloads: dict[str, Workload] = {}
        self.due: dict[Root, float] = {}
        self.number = 0
        self.dirty = False
        self.idle_rounds = 0
        # Queues that may have a head, and evicted workloads that still hold quota; dicts as ordered sets.
        self.ready: dict[str, Queue] = {}
        self.leaving: dict[str, Workload] = {}

    def texts(self) -> AmountText:
        """The writer of amounts into messages, or one that writes nothing."""
        return AmountText(self.forest.cells.names, self.format) if self.explains else Unsaid()

    def touch(self) -> None:
        """Something changed that a cycle may answer to."""
        self.dirty = True
        self.idle_rounds = 0

    def notify(self, queue: Queue, now: float) -> None:
        """Un-park the queue's whole tree with the next batch."""
        if not queue.in_cycle:
            self.due.setdefault(queue.root, now + REQUEUE_BATCH_SECONDS)

    def due_trees(self, now: float) -> list[Root]:
        """The trees whose batch is due, taken off the list."""
        roots = [root for root, due in self.due.items() if due <= now]
        for root in roots:
            del self.due[root]
        return roots

    def unpark(self, queue: Queue) -> None:
        """Make everything parked in a queue eligible again."""
        if queue.line.any_parked and queue.line.unpark():
            self.ready[queue.spec.name] = queue
            self.touch()

    def enqueue(self, workload: Workload) -> list[Decision]:
        """Let a workload wait in its queue, at the place that its priority and age give it."""
        workload.phase = Phase.WAITING
        name = workload.spec.queue
        queue = self.forest.queues.get(name)
        if queue is None:
            return self.explain(workload, messages.queue_missing(name), PendingReason.INADMISSIBLE)
        queue.line.push(workload)
        self.ready[name] = queue
        self.touch()
        if not queue.active:
            return self.explain(workload, messages.queue_inactive(name), PendingReason.INADMISSIBLE)
        return []

    def hold(
        self,
        workload: Workload,
        assignment: tuple[PodSetAssignment, ...],
        usage: dict[int, int],
        reserved_at: float,
    ) -> None:
        """Note what a workload holds from now on; its usage is booked by the caller."""
        queue = self.forest.queues[workload.spec.queue]
        workload.phase = Phase.ADMITTED
        workload.assignment = assignment
        workload.cells = frozenset(usage)
        workload.usage = tuple((cell, amount) for cell, amount in usage.items() if amount)
        workload.reserved_at = reserved_at
        workload.rank = (workload.spec.priority, -int(reserved_at), workload.spec.key)
        workload.scan = None
        workload.message = workload.reason = ""
        workload.eviction_stands = False
        queue.line.remove(workload.spec.key)
        queue.holders[workload.spec.key] = workload
        self.forest.book(queue, workload, 1)

    def leave(self, workload: Workload, now: float) -> None:
        """Take a workload out of its queue's line and holders, with its usage."""
        queue = self.forest.queues.get(workload.spec.queue)
        if queue is None:
            return
        key = workload.spec.key
        queue.line.remove(key)
        if queue.holders.pop(key, None) is not None:
            for cell, amount in workload.usage:
                queue.node.remove(cell, amount)
            self.forest.book(queue, workload, -1)
            queue.generation += 1
            self.leaving.pop(key, None)
        workload.usage, workload.cells, workload.assignment, workload.scan = (), frozenset(), (), None
        self.notify(queue, now)
        self.touch()

    def evict(self, workload: Workload, reason: str) -> Evict:
        """Mark a running workload as told to go; drained ones wait until their queue starts again."""
        self.tell_to_go(workload)
        workload.blocked = reason == EvictionReason.CLUSTER_QUEUE_STOPPED
        self.touch()
        return Evict(workload.spec.key, reason)

    def tell_to_go(self, workload: Workload) -> None:
        """From now on the workload only holds quota until its pods are gone."""
        workload.phase = Phase.EVICTED
        workload.eviction_stands = True
        self.leaving[workload.spec.key] = workload

    def release(self, workload: Workload, now: float) -> list[Decision]:
        """Take the quota of an evicted workload back and let it wait again."""
        self.leave(workload, now)
        queue = self.forest.queues[workload.spec.queue]
        workload.blocked = workload.blocked and queue.spec.stop_policy is not StopPolicy.NONE
        return [Released(workload.spec.key), *self.enqueue(workload)]

    def explain(
        self, workload: Workload, message: str, reason: PendingReason = PendingReason.PENDING
    ) -> list[Decision]:
        """A Pending decision, unless it would repeat the workload's last one."""
        if not self.explains or (workload.message, workload.reason) == (message, reason):
            return []
        workload.message, workload.reason = message, reason
        return [Pending(workload.spec.key, message, reason)]

    def copy(self) -> "State":
        """An independent copy."""
        twin = State(self.fair, self.format, explains=self.explains)
        twin.workloads = {key: workload.copy() for key, workload in self.workloads.items()}
        twin.forest = self.forest.copy(twin.workloads)
        twin.due = dict(self.due)
        twin.number, twin.dirty, twin.idle_rounds = self.number, self.dirty, self.idle_rounds
        twin.ready = {name: twin.forest.queues[name] for name in self.ready if name in twin.forest.queues}
        twin.leaving = {key: twin.workloads[key] for key in self.leaving}
        return twin
