"""Classic preemption: which running workloads have to go for one that does not fit.

Three kinds of candidates, in this order: those over whom the preemptor's queue stands closer to the quota
(hierarchical advantage), those of other queues that priority lets it evict, those of its own queue. They are taken
greedily until the preemptor fits, then given back where not needed; the choice is Kueue's, not a minimal one.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import IntEnum

from portal.admission.candidates import (
    Request,
    add_usage,
    fits,
    give_back,
    holders_of,
    remove_usage,
    satisfies,
)
from portal.admission.decisions import PreemptionReason
from portal.admission.forest import Forest
from portal.admission.judgements import Target
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode, children_over_nominal, fits_in_quota, within_nominal
from portal.admission.workloads import Holder, Rank


class _Variant(IntEnum):
    """How a candidate may be evicted."""

    WITHIN_QUEUE = 0
    HIERARCHICAL = 1
    WITHOUT_BORROWING = 2
    WHILE_BORROWING = 3


_REASON = {
    _Variant.WITHIN_QUEUE: PreemptionReason.IN_CLUSTER_QUEUE,
    _Variant.HIERARCHICAL: PreemptionReason.IN_COHORT_RECLAMATION,
    _Variant.WITHOUT_BORROWING: PreemptionReason.IN_COHORT_RECLAMATION,
    _Variant.WHILE_BORROWING: PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING,
}


# A holder, how it may be evicted, and the lowest cohort above it and the preemptor (None in the own queue).
_Candidate = tuple[Holder, _Variant, QuotaNode | None]


def classic_targets(forest: Forest, request: Request) -> list[Target]:
    """The victims for a request, or none when no eviction would help. Usage is left as it was."""
    flat = request.queue.tree.flat and len(request.contested) == 1
    search = _FlatSearch(forest, request) if flat else _TreeSearch(forest, request)
    for borrowing in search.attempts():
        targets: list[Target] = []
        for holder, reason in search.victims(borrowing=borrowing):
            remove_usage(forest, holder)
            targets.append(Target(holder, reason))
            if fits(request, borrowing=borrowing):
                targets = give_back(forest, request, targets, borrowing=borrowing)
                _restore(forest, targets)
                return targets
        _restore(forest, targets)
    return []


def _restore(forest: Forest, targets: list[Target]) -> None:
    for target in targets:
        add_usage(forest, target.holder)


class _Search(ABC):
    """What both searches share."""

    def __init__(self, forest: Forest, request: Request) -> None:
        self.forest = forest
        self.request = request
        self.preemption = request.queue.spec.preemption

    def attempts(self) -> tuple[bool, ...]:
        """Whether to allow borrowing, in the order in which both are tried."""
        forbidden = not self.preemption.borrow_within_cohort
        if (forbidden and not self._under_nominal()) or not self._any_from_others():
            return (True,)
        if forbidden and not self._any_hierarchical():
            return (False, True)
        return (True, False)

    @abstractmethod
    def _any_from_others(self) -> bool:
        """Whether other queues have candidates."""

    @abstractmethod
    def _any_hierarchical(self) -> bool:
        """Whether some of those are candidates by the preemptor's place in the tree."""

    def _under_nominal(self) -> bool:
        node = self.request.queue.node
        return all(node.nominal[cell] > node.usage[cell] for cell in self.request.contested)

    @abstractmethod
    def victims(self, *, borrowing: bool) -> Iterator[tuple[Holder, PreemptionReason]]:
        """Who may be evicted next, while the caller evicts everybody he is given."""

    def _by_priority(self, holder: Holder) -> _Variant:
        if not self.preemption.borrow_within_cohort:
            return _Variant.WITHOUT_BORROWING
        threshold = self.preemption.max_priority_threshold
        priority = holder.workload.priority
        above = priority >= self.request.workload.priority or (threshold is not None and priority > threshold)
        return _Variant.WITHOUT_BORROWING if above else _Variant.WHILE_BORROWING


class _FlatSearch(_Search):
    """The search in a cohort without cohorts below it, for one contested cell: it walks the tree's order of victims
    and stops where the preemptor fits, instead of gathering all candidates first."""

    def __init__(self, forest: Forest, request: Request) -> None:
        super().__init__(forest, request)
        (self._cell,) = request.contested
        self._reclaims = not request.queue.never_reclaims
        self._advantage = self._reclaims and fits_in_quota(request.queue.node, request.usage)[0]

    def _any_from_others(self) -> bool:
        return self._reclaims and next(self._others(), None) is not None

    def _any_hierarchical(self) -> bool:
        return self._advantage and self._any_from_others()

    def victims(self, *, borrowing: bool) -> Iterator[tuple[Holder, PreemptionReason]]:
        """Those already evicted first, then other queues', then the own."""
        # Where nobody may be evicted by priority while borrowing, others are spared altogether.
        spared = borrowing and not self._advantage and not self.preemption.borrow_within_cohort
        for leaving in (True, False):
            if leaving and not self.forest.leaving:
                continue
            for holder in self._others() if self._reclaims and not spared else ():
                if (holder.key in self.forest.leaving) is not leaving:
                    continue
                variant = _Variant.HIERARCHICAL if self._advantage else self._by_priority(holder)
                if not (borrowing and variant is _Variant.WITHOUT_BORROWING):
                    yield holder, _REASON[variant]
            for holder in self._own():
                if (holder.key in self.forest.leaving) is leaving:
                    yield holder, PreemptionReason.IN_CLUSTER_QUEUE

    def _others(self) -> Iterator[Holder]:
        """Other queues' holders that may be evicted and whose queue is above its quota now."""
        queue, cell, queues = self.request.queue, self._cell, self.forest.queues
        preemptor, policy = self.request.workload, self.preemption.reclaim_within_cohort
        by_priority = policy is not PreemptionPolicy.ANY
        for priority, _, _, holder in queue.tree.ranked(cell):
            if by_priority and priority > preemptor.priority:
                return
            other = queues[holder.queue]
            node = other.node
            if node.usage[cell] <= node.subtree[cell] or other is queue or not other.active:
                continue
            if not by_priority or satisfies(policy, preemptor, holder.workload):
                yield holder

    def _own(self) -> list[Holder]:
        if self.preemption.within_queue is PreemptionPolicy.NEVER:
            return []
        return sorted(holders_of(self.request.queue, self.request, self.preemption.within_queue), key=_rank)


class _TreeSearch(_Search):
    """The search in any tree and for any number of contested cells."""

    def __init__(self, forest: Forest, request: Request) -> None:
        super().__init__(forest, request)
        own: list[_Candidate] = []
        if self.preemption.within_queue is not PreemptionPolicy.NEVER:
            own = [
                (holder, _Variant.WITHIN_QUEUE, None)
                for holder in holders_of(request.queue, request, self.preemption.within_queue)
            ]
        self._hierarchical, self._others_by_priority = self._in_cohort()
        self._candidates = self._in_order(self._hierarchical, self._others_by_priority, own)

    def _any_from_others(self) -> bool:
        return bool(self._hierarchical or self._others_by_priority)

    def _any_hierarchical(self) -> bool:
        return bool(self._hierarchical)

    def _in_cohort(self) -> tuple[list[_Candidate], list[_Candidate]]:
        hierarchical: list[_Candidate] = []
        by_priority: list[_Candidate] = []
        queue = self.request.queue
        if queue.never_reclaims:
            return hierarchical, by_priority
        advantage, rest = fits_in_quota(queue.node, self.request.usage)
        previous: QuotaNode | None = None
        for root in queue.node.path():
            self._collect(root, root, previous, hierarchical if advantage else by_priority, advantage=advantage)
            fit, rest = fits_in_quota(root, rest)
            advantage = advantage or fit
            previous = root
        return hierarchical, by_priority

    def _collect(
        self, node: QuotaNode, common: QuotaNode, skip: QuotaNode | None, into: list[_Candidate], *, advantage: bool
    ) -> None:
        """Gather candidates below `node` from subtrees that use more than their quota of a contested cell."""
        over = children_over_nominal(node, self.request.contested)
        for child in over:
            if not child.is_queue and child is not skip:
                self._collect(child, common, skip, into, advantage=advantage)
        for child in over:
            queue = self.forest.queues.get(child.name) if child.is_queue else None
            if queue is None or queue is self.request.queue or not queue.active:
                continue
            holders = holders_of(queue, self.request, self.preemption.reclaim_within_cohort)
            if advantage:
                into += [(holder, _Variant.HIERARCHICAL, common) for holder in holders]
            else:
                into += [(holder, self._by_priority(holder), common) for holder in holders]

    def _in_order(self, *kinds: list[_Candidate]) -> list[_Candidate]:
        """Those already evicted first, then kind by kind in the order among victims."""
        leaving = self.forest.leaving
        ordered = [candidate for kind in kinds for candidate in sorted(kind, key=lambda one: one[0].rank)]
        if not leaving:
            return ordered
        return sorted(ordered, key=lambda one: one[0].key not in leaving)

    def victims(self, *, borrowing: bool) -> Iterator[tuple[Holder, PreemptionReason]]:
        """Those of the candidates that still count when their turn comes."""
        for candidate in self._candidates:
            if self._valid(candidate, borrowing=borrowing):
                yield candidate[0], _REASON[candidate[1]]

    def _valid(self, candidate: _Candidate, *, borrowing: bool) -> bool:
        """Whether the candidate still counts, after the evictions so far."""
        holder, variant, common = candidate
        if variant is _Variant.WITHIN_QUEUE:
            return True
        if borrowing and variant is _Variant.WITHOUT_BORROWING:
            return False
        contested = self.request.contested
        node = self.forest.queues[holder.queue].node
        if within_nominal(node, contested):
            return False
        for ancestor in node.path():
            if ancestor is common:
                return True
            if within_nominal(ancestor, contested):
                return False
        return True


def _rank(holder: Holder) -> Rank:
    return holder.rank
