"""How one cell could be had for some amount: free, after evictions (of whom), or not at all; judged once per state."""

from portal.admission.asks import Ask, Single
from portal.admission.candidates import Request, add_usage, remove_usage
from portal.admission.fairness import fair_targets
from portal.admission.forest import Forest
from portal.admission.judgements import FREE, Judgement, Mode, Target
from portal.admission.model import FairSharing
from portal.admission.nodes import borrowing_height
from portal.admission.prospects import needed, no_victims
from portal.admission.queue import Queue
from portal.admission.shares import ShareBook
from portal.admission.victims import classic_targets
from portal.admission.workloads import Workload

_OPEN, _NO_FIT, _FIT = Mode.OPEN, Mode.NO_FIT, Mode.FIT


class Judge:
    """Judges cells as the usage stands, and remembers it with the ask for as long as nothing changes there.

    Under fair sharing whom a request would evict depends on all cells of the tree. `book` is the shares as they stand.
    """

    def __init__(self, forest: Forest, fair: FairSharing | None) -> None:
        self._forest = forest
        self.fair = fair
        self.book = ShareBook(forest.cells.names)

    def open_book(self) -> None:
        """Forget the shares that were worked out for another cycle."""
        self.book = ShareBook(self._forest.cells.names)

    def victims(self, request: Request) -> list[Target]:
        """Whom a request would evict; nobody where that is impossible or forbidden."""
        if request.queue.never_preempts or no_victims(request, fair=self.fair is not None):
            return []
        if self.fair is not None:
            return fair_targets(self._forest, self.book, request, self.fair.strategies)
        return classic_targets(self._forest, request)

    def stamp(self, queue: Queue, cell: int) -> int:
        """Names the state on which a judgement of the cell depends."""
        return queue.tree.stamps[cell] if self.fair is None else queue.tree.stamp

    def of(self, queue: Queue, ask: Ask, cell: int, total: int) -> Judgement:
        """Judge `total` of a cell; evictions are left open."""
        pool, node = queue.pool, queue.node
        if pool is not None and total <= min(
            pool.subtree[cell] - pool.usage[cell], node.nominal[cell] - node.usage[cell]
        ):
            return FREE
        stamp = self.stamp(queue, cell)
        if queue.by_age:
            # Whom it may evict depends on when it was created, not on its shape alone.
            return self._fresh(queue, stamp, cell, total)
        known = ask.judged.get((cell, total))
        if known is None or known.stamp != stamp:
            known = ask.judged[cell, total] = self._fresh(queue, stamp, cell, total)
        return known

    def of_single(self, queue: Queue, workload: Workload, single: Single) -> Judgement:
        """The same for a flavor of an ask for one resource, where nothing is remembered that holds."""
        fair, cell = self.fair is not None, single.cell
        stamp = self.stamp(queue, cell)
        judgement = single.judgement = self._fresh(queue, stamp, cell, single.amount)
        if judgement.mode is _OPEN:
            free = (
                queue.node.available(cell) if queue.pool is None else queue.pool.subtree[cell] - queue.pool.usage[cell]
            )
            if free < needed(queue, workload.priority, single, fair=fair):
                self._give_up(queue, judgement, cell, single.amount)
        return judgement

    def _fresh(self, queue: Queue, stamp: int, cell: int, total: int) -> Judgement:
        node, pool = queue.node, queue.pool
        if pool is None:
            most, available = node.maximum(cell), node.available(cell)
            height, below_root = borrowing_height(node, cell, total)
        else:
            most = pool.subtree[cell]
            available = max(0, most - pool.usage[cell])
            borrows = node.subtree[cell] < node.usage[cell] + total
            height, below_root = (pool.height, False) if borrows else (0, True)
        if total > most:
            return Judgement(stamp, Mode.NO_FIT, 0)
        if total <= available:
            return Judgement(stamp, Mode.FIT, height)
        if node.nominal[cell] >= total or below_root or queue.forces[self.fair is not None]:
            return Judgement(stamp, Mode.NO_CANDIDATES if queue.never_preempts else Mode.OPEN, height)
        return Judgement(stamp, Mode.NO_FIT, height)

    def settle(self, queue: Queue, workload: Workload, judgement: Judgement, cell: int, amount: int) -> None:
        """Work out an open judgement: whether evictions could free so much, and how far it would be borrowed then."""
        forest = self._forest
        targets = self.victims(Request(workload, queue, {cell: amount}, frozenset((cell,))))
        if not targets:
            self._give_up(queue, judgement, cell, amount)
            return
        for target in targets:
            remove_usage(forest, target.holder)
        judgement.height = borrowing_height(queue.node, cell, amount)[0]
        for target in targets:
            add_usage(forest, target.holder)
        own = any(target.holder.queue == queue.spec.name for target in targets)
        judgement.mode, judgement.targets = (Mode.PREEMPT if own else Mode.RECLAIM), targets

    @staticmethod
    def _give_up(queue: Queue, judgement: Judgement, cell: int, amount: int) -> None:
        judgement.mode, judgement.height = Mode.NO_CANDIDATES, borrowing_height(queue.node, cell, amount)[0]
