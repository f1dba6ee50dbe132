"""Who has no chance at the moment: a cheap proof that trying a head would end in its rejection.

A head needs, in every resource group, one flavor with room for all it asks, where room is what is free now and at most
all that it could evict. The bounds are generous, so a head that is not proved hopeless may still be rejected.
"""

from collections.abc import Collection

from portal.admission.asks import Ask, Single
from portal.admission.candidates import Request, evictable
from portal.admission.queue import Queue
from portal.admission.tree import Tree


def any_hope(tree: Tree, busy: Collection[str], *, fair: bool) -> bool:
    """Whether somebody who waits in a tree is not certain to be rejected; `busy`: searches that go on half-way.

    If everybody was without hope the last time, only the cells that changed since are looked at.
    """
    proof, stamps = tree.proof, tree.stamps
    changed = [cell for cell, stamp in enumerate(tree.proved) if stamp != stamps[cell]]
    tree.prove()
    for queue in tree.queues:
        if not queue.active or not queue.line.members:
            continue
        asks = queue.asks
        for shape, group in queue.line.classes.items():
            if not group.line:
                continue
            ask = asks[shape]
            if busy and group.line[0][2] in busy:
                return True
            if ask.proof != proof or ask.singles is None:
                if not hopeless(queue, ask, shape.priority, fair=fair):
                    return True
            else:
                by_cell = ask.by_cell
                for cell in changed:
                    if cell in by_cell and _room(queue, shape.priority, by_cell[cell], fair=fair):
                        return True
            ask.proof = tree.proof
    return False


def hopeless(queue: Queue, ask: Ask, priority: int, *, fair: bool) -> bool:
    """Whether a workload whose search starts at the first flavor would certainly be rejected if it were tried now."""
    stamps = queue.tree.stamps
    if ask.singles is None:
        return _hopeless_in_a_group(queue, ask, priority, fair=fair)
    for single in ask.offered:
        stamp = stamps[single.cell]
        if single.barren != stamp:
            if _room(queue, priority, single, fair=fair):
                return False
            single.barren = stamp
    return True


def _hopeless_in_a_group(queue: Queue, ask: Ask, priority: int, *, fair: bool) -> bool:
    stamps, barren = queue.tree.stamps, ask.barren
    for options in ask.least:
        for option in options:
            stamp = max([stamps[cell] for cell, _ in option])
            if barren.get(option) == stamp:
                continue
            if all(_cell_room(queue, priority, cell, amount, fair=fair) for cell, amount in option):
                break
            barren[option] = stamp
        else:
            return True
    return False


def _room(queue: Queue, priority: int, single: Single, *, fair: bool) -> bool:
    """Whether one flavor may have room."""
    pool, cell = queue.pool, single.cell
    free = queue.node.available(cell) if pool is None else pool.subtree[cell] - pool.usage[cell]
    return free >= (single.need if single.need_at == queue.stamp else needed(queue, priority, single, fair=fair))


def needed(queue: Queue, priority: int, single: Single, *, fair: bool) -> int:
    """At least how much of a flavor has to be free for a workload to have a chance there."""
    if single.need_at == queue.stamp:
        return single.need
    freed, others = 0, False
    if not queue.never_preempts:
        freed, others = _evictable(queue, priority, single.cell, single.amount, fair=fair)
    if not others:
        single.need, single.need_at = single.amount - freed, queue.stamp
    return single.amount - freed


def _cell_room(queue: Queue, priority: int, cell: int, amount: int, *, fair: bool) -> bool:
    """Whether so much of a cell may be had, by evictions too."""
    free = queue.node.available(cell)
    if amount <= free or not amount:
        return True
    return not queue.never_preempts and amount - free <= _evictable(queue, priority, cell, amount, fair=fair)[0]


def no_victims(request: Request, *, fair: bool) -> bool:
    """Whether no eviction could make room for a request."""
    queue, priority = request.queue, request.workload.priority
    for cell, amount in request.usage.items():
        free = queue.node.available(cell)
        if amount > free and amount - free > _evictable(queue, priority, cell, amount, fair=fair)[0]:
            return True
    return False


def _evictable(queue: Queue, priority: int, cell: int, amount: int, *, fair: bool) -> tuple[int, bool]:
    """At most how much of a cell evictions could free, and whether other queues' workloads count for that."""
    preemption, node = queue.spec.preemption, queue.node
    flat = queue.tree.flat
    if flat and amount > node.nominal[cell] and not queue.forces[fair]:
        # More than its own quota: in a flat cohort nobody is evicted for that, except where borrowing allows it.
        return 0, False
    own = evictable(queue.held.get(cell), preemption.within_queue, priority)
    if queue.never_reclaims:
        return own, False
    if flat and not fair and not preemption.borrow_within_cohort:
        # Here a queue takes back only while it is below its own quota, and only up to it; its own victims count too.
        nominal, used = node.nominal[cell], node.usage[cell]
        if used >= nominal or used + amount - own > nominal:
            return own, False
    return own + evictable(queue.tree.held.get(cell), preemption.reclaim_within_cohort, priority), True
