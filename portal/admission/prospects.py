"""Who has no chance at the moment: a cheap proof that trying a head would end in its rejection.

A head needs, in every resource group, one flavor with room for all it asks, where room is what is free now and at most
all that it could evict. The bounds are generous, so a head that is not proved hopeless may still be rejected.
"""

from portal.admission.candidates import Request, evictable
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.tree import Forest, Queue
from portal.admission.workloads import Marks, Needs, Option, Workload

NEVER = PreemptionPolicy.NEVER


def hopeless(forest: Forest, queue: Queue, workload: Workload, *, fair: bool) -> bool:
    """Whether the workload would certainly be rejected and parked if it were tried now."""
    if workload.scan is not None and workload.scan.pending():
        return False
    needs, marks = workload.needs, workload.marks
    if needs is None or needs.of is not queue.groups:
        needs, marks = _needs(queue, workload), None
        workload.needs = needs
    if marks is None or marks.version != queue.version or marks.forest not in (None, forest.version):
        marks = workload.marks = _marks(forest, queue, workload, needs, fair=fair)
    return not all(_any_fits(queue.node, options) for options in marks.groups)


def _any_fits(node: QuotaNode, options: tuple[Option, ...]) -> bool:
    """Whether one flavor has so much free in every cell."""
    parent = node.parent
    if parent is not None and parent.parent is None and node.shares_all:
        # The common case without the walk up the tree: a flat cohort without limits.
        subtree, usage = parent.subtree, parent.usage
        for option in options:
            for cell, amount in option:
                if amount > 0 and amount > subtree[cell] - usage[cell]:
                    break
            else:
                return True
        return False
    return any(all(amount <= node.available(cell) for cell, amount in option) for option in options)


def _marks(forest: Forest, queue: Queue, workload: Workload, needs: Needs, *, fair: bool) -> Marks:
    """Take from what is asked all that evictions could free."""
    if queue.never_preempts:
        return Marks(queue.version, None, needs.groups)
    elsewhere = False
    groups: list[tuple[Option, ...]] = []
    for options in needs.groups:
        lowered: list[Option] = []
        for option in options:
            cells: list[tuple[int, int]] = []
            for cell, amount in option:
                freed, others = _evictable(forest, queue, workload, cell, amount, fair=fair)
                elsewhere = elsewhere or others
                cells.append((cell, amount - freed))
            lowered.append(tuple(cells))
        groups.append(tuple(lowered))
    return Marks(queue.version, forest.version if elsewhere else None, tuple(groups))


def no_victims(forest: Forest, request: Request, *, fair: bool) -> bool:
    """Whether no eviction could make room for a request."""
    queue, workload = request.queue, request.workload
    for cell, amount in request.usage.items():
        freed, _ = _evictable(forest, queue, workload, cell, amount, fair=fair)
        if amount - freed > queue.node.available(cell):
            return True
    return False


def simple(workload: Workload) -> bool:
    """Whether it asks for one resource in one pod set, so that its flavors do not depend on each other."""
    return workload.needs is not None and workload.needs.simple


def _needs(queue: Queue, workload: Workload) -> Needs:
    """What each resource group has to provide at least; pod sets are judged one by one, with their fewest pods."""
    groups: list[tuple[Option, ...]] = []
    wide: list[int] = []
    covered = True
    for podset in workload.spec.podsets:
        count = podset.count if podset.min_count is None else podset.min_count
        amounts = {name: amount * count for name, amount in podset.requests.items()}
        if "pods" in queue.groups:
            amounts["pods"] = count
        covered = covered and all(name in queue.groups for name in amounts)
        for plan in queue.plans:
            asked = [name for name in amounts if name in plan.resources]
            if not asked:
                continue
            if len(plan.flavors) > 1:
                wide.append(len(groups))
            options = tuple(
                tuple((cells[name], amounts[name]) for name in asked)
                for flavor, cells in plan.flavors
                if podset.flavors_allowed is None or flavor in podset.flavors_allowed
            )
            groups.append(options)
    # A search that stopped early in another group goes on with that group's next flavors: then it is no rejection yet.
    decisive = tuple(group for at, group in enumerate(groups) if covered and wide in ([], [at]))
    partial = any(podset.min_count is not None for podset in workload.spec.podsets)
    simple = len(workload.spec.podsets) == len(groups) == 1 and all(len(option) == 1 for option in groups[0])
    return Needs(queue.groups, decisive, simple and not partial)


def _evictable(
    forest: Forest, queue: Queue, workload: Workload, cell: int, amount: int, *, fair: bool
) -> tuple[int, bool]:
    """At most how much of a cell evictions could free, and whether other queues' workloads are counted."""
    preemption, priority = queue.spec.preemption, workload.spec.priority
    parent = queue.node.parent
    if amount > queue.node.nominal[cell] and (parent is None or parent.parent is None):
        # More than its own quota: in a flat cohort nobody is evicted for that, except where borrowing allows it.
        borrows = preemption.borrow_within_cohort or (fair and preemption.reclaim_within_cohort is not NEVER)
        if not borrows:
            return 0, False
    own = evictable(queue.held.get(cell), preemption.within_queue, priority)
    if not _may_reclaim(queue, queue.node, cell, amount - own, fair=fair):
        return own, False
    held = forest.held_in(queue.root).get(cell)
    return own + evictable(held, preemption.reclaim_within_cohort, priority), True


def _may_reclaim(queue: Queue, node: QuotaNode, cell: int, amount: int, *, fair: bool) -> bool:
    """Whether other queues' workloads could be victims at all, `amount` being what own victims do not make up for."""
    parent = node.parent
    if parent is None or queue.spec.preemption.reclaim_within_cohort is NEVER:
        return False
    if fair or parent.parent is not None or queue.spec.preemption.borrow_within_cohort:
        return True
    # In a flat cohort a queue takes back only while it is below its own quota, and only up to it.
    return node.usage[cell] < node.nominal[cell] and node.usage[cell] + amount <= node.nominal[cell]
