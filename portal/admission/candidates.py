"""Who may be evicted for whom: the preemption policies and the order in which victims are considered."""

from dataclasses import dataclass

from portal.admission.forest import Forest
from portal.admission.judgements import Target
from portal.admission.model import PreemptionPolicy
from portal.admission.queue import Queue
from portal.admission.workloads import Holder, Rank, Workload

ANY = PreemptionPolicy.ANY
LOWER_PRIORITY = PreemptionPolicy.LOWER_PRIORITY
NEWER = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
NEVER = PreemptionPolicy.NEVER


@dataclass(slots=True)
class Request:
    """What a preemptor needs: `usage` by cell, and the cells among them that are not free."""

    workload: Workload
    queue: Queue
    usage: dict[int, int]
    contested: frozenset[int]


def satisfies(policy: PreemptionPolicy, preemptor: Workload, candidate: Workload) -> bool:
    """Whether the policy lets the preemptor evict the candidate."""
    mine, other = preemptor.priority, candidate.priority
    if policy is LOWER_PRIORITY:
        return mine > other
    if policy is NEWER:
        return mine > other or (mine == other and preemptor.created < candidate.created)
    return policy is ANY


def evictable(held: dict[int, int] | None, policy: PreemptionPolicy, priority: int) -> int:
    """At most so much the policy lets a workload of this priority evict, of what is held by priority."""
    if not held or policy is NEVER:
        return 0
    if policy is ANY:
        return sum(held.values())
    total = 0
    for other, amount in held.items():
        if other < priority or (other == priority and policy is NEWER):
            total += amount
    return total


def eviction_order(forest: Forest, candidate: Holder, preemptor_queue: str) -> tuple[bool, bool, Rank]:
    """Sort key: already evicted, other queues first, lower priority, latest reservation (whole seconds), key.

    Kueue's last criterion is the random UID, so between equals of one second its choice is arbitrary.
    """
    return candidate.key not in forest.leaving, candidate.queue == preemptor_queue, candidate.rank


def holders_of(queue: Queue, request: Request, policy: PreemptionPolicy) -> list[Holder]:
    """The queue's workloads that hold contested quota and may be evicted under the policy."""
    preemptor, contested = request.workload, request.contested
    if len(contested) == 1:
        (cell,) = contested
        found = queue.users_of(cell)
    else:
        found = [holder for holder in queue.holders.values() if not contested.isdisjoint(holder.cells)]
    if policy is ANY:
        return found
    return [holder for holder in found if satisfies(policy, preemptor, holder.workload)]


def remove_usage(forest: Forest, holder: Holder) -> None:
    """Pretend that the workload had left."""
    node = forest.queues[holder.queue].node
    for cell, amount in holder.usage:
        node.remove(cell, amount)


def add_usage(forest: Forest, holder: Holder) -> None:
    """Take `remove_usage` back."""
    node = forest.queues[holder.queue].node
    for cell, amount in holder.usage:
        node.add(cell, amount)


def fits(request: Request, *, borrowing: bool) -> bool:
    """Whether the preemptor fits as the usage stands."""
    node, pool = request.queue.node, request.queue.pool
    for cell, amount in request.usage.items():
        if not borrowing and node.borrowing_with(cell, amount):
            return False
        if amount > (node.available(cell) if pool is None else pool.subtree[cell] - pool.usage[cell]):
            return False
    return True


def give_back(forest: Forest, request: Request, targets: list[Target], *, borrowing: bool) -> list[Target]:
    """Drop the victims that turn out not to be needed, last chosen first; all usage stays as the targets imply."""
    index = len(targets) - 2
    while index >= 0:
        add_usage(forest, targets[index].holder)
        if fits(request, borrowing=borrowing):
            targets[index] = targets[-1]
            targets.pop()
        else:
            remove_usage(forest, targets[index].holder)
        index -= 1
    return targets
