"""Who has no chance at the moment: a cheap proof that trying a head would end in its rejection.

A head needs, in every resource group, one flavor with room for all it asks, where room is what is free now and at most
all that it could evict. The bounds are generous, so a head that is not proved hopeless may still be rejected.
"""

from portal.admission.asks import Option
from portal.admission.candidates import Request, evictable
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.queue import Queue
from portal.admission.workloads import Workload

NEVER = PreemptionPolicy.NEVER


def hopeless(queue: Queue, workload: Workload, *, fair: bool) -> bool:
    """Whether a workload whose search starts at the first flavor would certainly be rejected if it were tried now."""
    ask = queue.ask(workload.shape)
    barren, stamps = ask.barren, queue.tree.stamps
    for options in ask.least:
        for option in options:
            stamp = stamps[option[0][0]] if len(option) == 1 else max([stamps[cell] for cell, _ in option])
            if barren.get(option) == stamp:
                continue
            if _room(queue, workload.priority, option, fair=fair):
                break
            barren[option] = stamp
        else:
            return True
    return False


def _room(queue: Queue, priority: int, option: Option, *, fair: bool) -> bool:
    """Whether one flavor may have room in every cell."""
    node = queue.node
    parent = node.parent
    plain = queue.tree.plain and parent is not None
    for cell, amount in option:
        free = parent.subtree[cell] - parent.usage[cell] if plain and parent is not None else node.available(cell)
        if amount <= free or not amount:
            continue
        if queue.never_preempts or amount > max(0, free) + _evictable(queue, priority, cell, amount, fair=fair):
            return False
    return True


def no_victims(request: Request, *, fair: bool) -> bool:
    """Whether no eviction could make room for a request."""
    queue, priority = request.queue, request.workload.priority
    for cell, amount in request.usage.items():
        free = queue.node.available(cell)
        if amount > free and amount > free + _evictable(queue, priority, cell, amount, fair=fair):
            return True
    return False


def _evictable(queue: Queue, priority: int, cell: int, amount: int, *, fair: bool) -> int:
    """At most how much of a cell evictions could free."""
    preemption = queue.spec.preemption
    parent = queue.node.parent
    if amount > queue.node.nominal[cell] and (parent is None or parent.parent is None):
        # More than its own quota: in a flat cohort nobody is evicted for that, except where borrowing allows it.
        borrows = preemption.borrow_within_cohort or (fair and preemption.reclaim_within_cohort is not NEVER)
        if not borrows:
            return 0
    own = evictable(queue.held.get(cell), preemption.within_queue, priority)
    if queue.never_reclaims or not _may_reclaim(queue, queue.node, cell, amount - own, fair=fair):
        return own
    return own + evictable(queue.tree.held.get(cell), preemption.reclaim_within_cohort, priority)


def _may_reclaim(queue: Queue, node: QuotaNode, cell: int, amount: int, *, fair: bool) -> bool:
    """Whether other queues' workloads could be victims at all, `amount` being what own victims do not make up for."""
    parent = node.parent
    if fair or (parent is not None and parent.parent is not None) or queue.spec.preemption.borrow_within_cohort:
        return True
    # In a flat cohort a queue takes back only while it is below its own quota, and only up to it.
    return node.usage[cell] < node.nominal[cell] and node.usage[cell] + amount <= node.nominal[cell]
