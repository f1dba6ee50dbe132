"""Preemption under fair sharing: victims come from the queue with the highest share, as long as a strategy allows.

The preemptor's own usage is added before shares are compared. A preemptor that stays within its nominal quota takes
back without looking at shares.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from portal.admission.candidates import (
    Request,
    add_usage,
    eviction_order,
    fits,
    give_back,
    holders_of,
    remove_usage,
)
from portal.admission.decisions import PreemptionReason
from portal.admission.forest import Forest
from portal.admission.judgements import Target
from portal.admission.model import FairStrategy, PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.shares import Share, ShareBook
from portal.admission.workloads import Holder

_LOWEST = (False, -1.0)


def fair_targets(forest: Forest, book: ShareBook, request: Request, strategies: Sequence[FairStrategy]) -> list[Target]:
    """The victims for a request, or none when no allowed eviction makes room. Usage is left as it was."""
    candidates = _candidates(forest, request)
    if not candidates:
        return []
    search = _FairSearch(forest, book, request)
    node = request.queue.node
    for cell, amount in request.usage.items():
        node.add(cell, amount)
    fit, retry = search.first_pass(candidates, strategies[0])
    if not fit and len(strategies) > 1:
        fit = search.second_pass(retry)
    for cell, amount in request.usage.items():
        node.remove(cell, amount)
    targets = give_back(forest, request, search.targets, borrowing=True) if fit else search.targets
    for target in targets:
        add_usage(forest, target.holder)
    return targets if fit else []


def _candidates(forest: Forest, request: Request) -> list[Holder]:
    preemption, queue = request.queue.spec.preemption, request.queue
    found: list[Holder] = []
    if preemption.within_queue is not PreemptionPolicy.NEVER:
        found += holders_of(queue, request, preemption.within_queue)
    if queue.node.parent is not None and preemption.reclaim_within_cohort is not PreemptionPolicy.NEVER:
        for other in queue.tree.queues:
            if other is queue or not other.active:
                continue
            if any(other.node.borrowing_with(cell, 0) for cell in request.contested):
                found += holders_of(other, request, preemption.reclaim_within_cohort)
    return sorted(found, key=lambda w: eviction_order(forest, w, queue.spec.name))


class _FairSearch:
    def __init__(self, forest: Forest, book: ShareBook, request: Request) -> None:
        self.forest = forest
        self.book = book
        self.request = request
        self.targets: list[Target] = []

    def first_pass(self, candidates: list[Holder], strategy: FairStrategy) -> tuple[bool, list[Holder]]:
        """Evict by the first strategy; whether it fits now, and who was spared by the strategy."""
        node = self.request.queue.node
        nominal = not any(node.borrowing_with(cell, 0) for cell in self.request.contested)
        order = _TargetOrder(self.forest, self.book, self.request, candidates)
        retry: list[Holder] = []
        for target in order:
            if target is node or nominal:
                own = target is node
                reason = PreemptionReason.IN_CLUSTER_QUEUE if own else PreemptionReason.IN_COHORT_RECLAMATION
                if self._evict(order.pop(target), reason):
                    return True, []
                continue
            mine, theirs = order.shares(target)
            while order.line(target):
                candidate = order.pop(target)
                after = partial(order.share_without, target, candidate)
                if not self._allowed(strategy, mine, theirs, after):
                    retry.append(candidate)
                    continue
                if self._evict(candidate, PreemptionReason.IN_COHORT_FAIR_SHARING):
                    return True, []
                break
        return False, retry

    def second_pass(self, retry: list[Holder]) -> bool:
        """Evict at most one spared workload a queue, if the preemptor's share stays below the victim's."""
        order = _TargetOrder(self.forest, self.book, self.request, retry)
        for target in order:
            mine, theirs = order.shares(target)
            candidate = order.pop(target)
            if mine.rank < theirs.rank and self._evict(candidate, PreemptionReason.IN_COHORT_FAIR_SHARING):
                return True
            order.drop(target)
        return False

    @staticmethod
    def _allowed(strategy: FairStrategy, mine: Share, theirs: Share, after: Callable[[], Share]) -> bool:
        if strategy is FairStrategy.LESS_THAN_INITIAL_SHARE:
            return mine.rank < theirs.rank
        return mine.rank <= after().rank

    def _evict(self, holder: Holder, reason: PreemptionReason) -> bool:
        remove_usage(self.forest, holder)
        self.targets.append(Target(holder, reason))
        node, usage = self.request.queue.node, self.request.usage
        for cell, amount in usage.items():
            node.remove(cell, amount)
        fit = fits(self.request, borrowing=True)
        for cell, amount in usage.items():
            node.add(cell, amount)
        return fit


class _TargetOrder:
    """Yields queues to take victims from: from the root down, always the child with the highest share.

    Between two yields the caller pops a workload of the queue or drops the queue.
    """

    def __init__(self, forest: Forest, book: ShareBook, request: Request, candidates: list[Holder]) -> None:
        self.book = book
        self.preemptor = request.queue.node
        self.ancestors = set(self.preemptor.path())
        self.forest = forest
        self.pruned: set[QuotaNode] = set()
        self.lines: dict[str, list[Holder]] = {}
        for candidate in reversed(candidates):
            self.lines.setdefault(candidate.queue, []).append(candidate)

    def line(self, node: QuotaNode) -> list[Holder]:
        """What is left of a queue's candidates, the next one last."""
        return self.lines.get(node.name, [])

    def pop(self, node: QuotaNode) -> Holder:
        """Take the next candidate of a queue."""
        return self.lines[node.name].pop()

    def drop(self, node: QuotaNode) -> None:
        """Ask this queue no more."""
        self.pruned.add(node)

    def __iter__(self) -> Iterator[QuotaNode]:
        root = self.preemptor.root()
        if root.is_queue:
            while root not in self.pruned and self.line(root):
                yield root
            return
        while root not in self.pruned:
            target = self._next(root)
            if target is not None:
                yield target

    def _next(self, cohort: QuotaNode) -> QuotaNode | None:
        """The next queue below a cohort; None when this look only pruned something."""
        queue, queue_rank = self._highest_queue(cohort)
        child, child_rank = self._highest_cohort(cohort)
        if queue is None and child is None:
            self.pruned.add(cohort)
            return None
        if child is not None and child_rank >= queue_rank:
            return self._next(child)
        return queue

    def _highest_queue(self, cohort: QuotaNode) -> tuple[QuotaNode | None, tuple[bool, float]]:
        best: QuotaNode | None = None
        best_rank = _LOWEST
        for node in cohort.children:
            if not node.is_queue or node in self.pruned or not self.forest.queues[node.name].active:
                continue
            share = self.book.share(node)
            if not self.line(node) or (not share.borrows and node is not self.preemptor):
                self.pruned.add(node)
            elif share.rank > best_rank or (share.rank == best_rank and best is not None and self._sooner(node, best)):
                best, best_rank = node, share.rank
        return best, best_rank

    def _sooner(self, node: QuotaNode, other: QuotaNode) -> bool:
        name = self.preemptor.name
        return eviction_order(self.forest, self.line(node)[-1], name) < eviction_order(
            self.forest, self.line(other)[-1], name
        )

    def _highest_cohort(self, cohort: QuotaNode) -> tuple[QuotaNode | None, tuple[bool, float]]:
        best: QuotaNode | None = None
        best_rank = _LOWEST
        for node in cohort.children:
            if node.is_queue or node in self.pruned:
                continue
            share = self.book.share(node)
            if not share.borrows and node not in self.ancestors:
                self.pruned.add(node)
            elif share.rank >= best_rank:
                best, best_rank = node, share.rank
        return best, best_rank

    def shares(self, target: QuotaNode) -> tuple[Share, Share]:
        """The preemptor's and the target's shares, each at the child of their lowest common cohort."""
        common = next(node for node in target.path() if node in self.ancestors)
        return self.book.share(_below(self.preemptor, common)), self.book.share(_below(target, common))

    def share_without(self, target: QuotaNode, holder: Holder) -> Share:
        """The target's share once the workload would have left."""
        common = next(node for node in target.path() if node in self.ancestors)
        remove_usage(self.forest, holder)
        share = self.book.share(_below(target, common))
        add_usage(self.forest, holder)
        return share


def _below(node: QuotaNode, common: QuotaNode) -> QuotaNode:
    """The ancestor of `node` (or itself) whose parent is `common`."""
    while node.parent is not None and node.parent is not common:
        node = node.parent
    return node
