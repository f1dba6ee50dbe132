"""Classic preemption: which running workloads have to go for one that does not fit.

Three kinds of candidates, in this order: those over whom the preemptor's queue stands closer to the quota
(hierarchical advantage), those of other queues that priority lets it evict, those of its own queue. They are taken
greedily until the preemptor fits, then given back where not needed; the choice is Kueue's, not a minimal one.
"""

from enum import IntEnum

from portal.admission.candidates import (
    Request,
    Target,
    add_usage,
    fits,
    give_back,
    holders_of,
    remove_usage,
)
from portal.admission.decisions import PreemptionReason
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode, children_over_nominal, fits_in_quota, within_nominal
from portal.admission.tree import Forest
from portal.admission.workloads import Phase, Workload


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


# A workload, how it may be evicted, and the lowest cohort above it and the preemptor (None in the own queue).
_Candidate = tuple[Workload, _Variant, QuotaNode | None]


def classic_targets(forest: Forest, request: Request) -> list[Target]:
    """The victims for a request, or none when no eviction would help. Usage is left as it was."""
    search = _ClassicSearch(forest, request)
    for borrowing in search.attempts():
        targets: list[Target] = []
        for candidate in search.candidates:
            if not search.valid(candidate, borrowing=borrowing):
                continue
            workload, variant, _ = candidate
            remove_usage(forest, workload)
            targets.append(Target(workload, _REASON[variant]))
            if fits(request, borrowing=borrowing):
                targets = give_back(forest, request, targets, borrowing=borrowing)
                _restore(forest, targets)
                return targets
        _restore(forest, targets)
    return []


def _restore(forest: Forest, targets: list[Target]) -> None:
    for target in targets:
        add_usage(forest, target.workload)


class _ClassicSearch:
    def __init__(self, forest: Forest, request: Request) -> None:
        self.forest = forest
        self.request = request
        self.preemption = request.queue.spec.preemption
        own: list[_Candidate] = []
        if self.preemption.within_queue is not PreemptionPolicy.NEVER:
            own = [
                (holder, _Variant.WITHIN_QUEUE, None)
                for holder in holders_of(request.queue, request, self.preemption.within_queue)
            ]
        hierarchical, by_priority = self._in_cohort()
        self.any_hierarchical = bool(hierarchical)
        self.any_from_others = bool(hierarchical or by_priority)
        self.candidates = self._in_order(hierarchical, by_priority, own)

    def attempts(self) -> tuple[bool, ...]:
        """Whether to allow borrowing, in the order in which both are tried."""
        forbidden = not self.preemption.borrow_within_cohort
        if not self.any_from_others or (forbidden and not self._under_nominal()):
            return (True,)
        if forbidden and not self.any_hierarchical:
            return (False, True)
        return (True, False)

    def _under_nominal(self) -> bool:
        node = self.request.queue.node
        return all(node.nominal[cell] > node.usage[cell] for cell in self.request.contested)

    def _in_cohort(self) -> tuple[list[_Candidate], list[_Candidate]]:
        hierarchical: list[_Candidate] = []
        by_priority: list[_Candidate] = []
        queue = self.request.queue
        if queue.node.parent is None or self.preemption.reclaim_within_cohort is PreemptionPolicy.NEVER:
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

    def _by_priority(self, holder: Workload) -> _Variant:
        if not self.preemption.borrow_within_cohort:
            return _Variant.WITHOUT_BORROWING
        threshold = self.preemption.max_priority_threshold
        priority = holder.spec.priority
        above = priority >= self.request.workload.spec.priority or (threshold is not None and priority > threshold)
        return _Variant.WITHOUT_BORROWING if above else _Variant.WHILE_BORROWING

    @staticmethod
    def _in_order(*kinds: list[_Candidate]) -> list[_Candidate]:
        """Those already evicted first, then kind by kind in the order among victims."""
        ordered = [candidate for kind in kinds for candidate in sorted(kind, key=_rank)]
        leaving = [candidate for candidate in ordered if candidate[0].phase is Phase.EVICTED]
        if not leaving:
            return ordered
        return leaving + [candidate for candidate in ordered if candidate[0].phase is not Phase.EVICTED]

    def valid(self, candidate: _Candidate, *, borrowing: bool) -> bool:
        """Whether the candidate still counts, after the evictions so far."""
        workload, variant, common = candidate
        if variant is _Variant.WITHIN_QUEUE:
            return True
        if borrowing and variant is _Variant.WITHOUT_BORROWING:
            return False
        contested = self.request.contested
        node = self.forest.queues[workload.spec.queue].node
        if within_nominal(node, contested):
            return False
        for ancestor in node.path():
            if ancestor is common:
                return True
            if within_nominal(ancestor, contested):
                return False
        return True


def _rank(candidate: _Candidate) -> tuple[int, int, str]:
    return candidate[0].rank
