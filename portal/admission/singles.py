"""The same search for flavors, for those who ask for one resource by one pod set and are not told why they wait.

Most workloads of a replay or forecast do, so this one is written to be quick; it decides exactly as `flavors` does.
"""

from portal.admission.asks import Ask, Single
from portal.admission.fungibility import WORST
from portal.admission.judgements import TO_THE_LAST, Judgement, Mode, Search, Tried
from portal.admission.judging import Judge
from portal.admission.nodes import QuotaNode
from portal.admission.queue import Queue
from portal.admission.workloads import FlavorScan, Workload

_FIT, _OPEN, _NO_FIT = Mode.FIT, Mode.OPEN, Mode.NO_FIT
_NOTHING = Search(tried=((),))


def find_single(queue: Queue, workload: Workload, ask: Ask, scan: FlavorScan | None, judge: Judge) -> Search:
    """Search the flavors of one resource; the ask must be for one (`Ask.singles`)."""
    singles, rules = ask.singles or (), queue.rules
    if scan is not None:
        singles = singles[scan.start(0, 0) :]
    if queue.pool is not None and rules.patient and (rules.stops_borrowing or rules.borrows_first):
        return _find_in_pool(queue, queue.pool, workload, singles, judge)
    candidates: list[Single] = []
    fitting = False
    for single in singles:
        if single is None:
            continue
        judgement = _judged(queue, workload, single, judge)
        if judgement.mode is _NO_FIT:
            continue
        if judgement.mode is _OPEN and not rules.patient:
            judge.settle(queue, workload, judgement, single.cell, single.amount)
        if judgement.mode is not _OPEN and rules.stops([judgement]):
            return _found(single, judgement, single.tried)
        fitting = fitting or judgement.mode is _FIT
        candidates.append(single)
    return _best(queue, workload, candidates, judge, fitting=fitting)


def _judged(queue: Queue, workload: Workload, single: Single, judge: Judge) -> Judgement:
    known = single.judgement
    if known is None or known.stamp != judge.stamp(queue, single.cell) or queue.by_age:
        return judge.of_single(queue, workload, single)
    return known


def _find_in_pool(
    queue: Queue, pool: QuotaNode, workload: Workload, singles: tuple[Single | None, ...], judge: Judge
) -> Search:
    """The search in a flat cohort without limits, where the first free flavor is taken: most need no judgement."""
    node = queue.node
    quota, own, most, used = node.nominal, node.usage, pool.subtree, pool.usage
    stops_borrowing, forced = queue.rules.stops_borrowing, queue.forces[judge.fair is not None]
    candidates: list[Single] = []
    borrowed: Single | None = None
    for single in singles:
        if single is None:
            continue
        cell, amount = single.cell, single.amount
        if amount <= most[cell] - used[cell]:
            if own[cell] + amount <= quota[cell]:
                return single.fits
            if stops_borrowing:
                return single.borrowed(pool.height)
            borrowed = borrowed or single
        elif amount <= most[cell] and (amount <= quota[cell] or forced):
            candidates.append(single)
    if borrowed is not None:
        return borrowed.free(pool.height, TO_THE_LAST)
    for single in candidates:
        _judged(queue, workload, single, judge)
    return _best(queue, workload, candidates, judge, fitting=False)


def _best(queue: Queue, workload: Workload, candidates: list[Single], judge: Judge, *, fitting: bool) -> Search:
    """The best of those at which the search did not stop, the first among equals."""
    rules = queue.rules
    # Nothing that costs an eviction is better than this.
    top = Mode.PREEMPT if queue.never_reclaims else Mode.RECLAIM
    best: Single | None = None
    rank = WORST
    for single in candidates:
        judgement = single.judgement
        if judgement is None or (judgement.mode is not _FIT and fitting and rules.borrows_first):
            continue
        if judgement.mode is _OPEN:
            judge.settle(queue, workload, judgement, single.cell, single.amount)
        one = judgement.mode, judgement.height
        if best is None or rules.preferred(one, rank):
            best, rank = single, one
            if rank == (top, 0):
                break
    if best is None or best.judgement is None:
        return _NOTHING
    return _found(best, best.judgement, TO_THE_LAST)


def _found(single: Single, judgement: Judgement, tried: Tried) -> Search:
    """What a search finds that chooses this flavor."""
    if judgement.mode is _FIT:
        return single.free(judgement.height, tried)
    known = judgement.search
    if known is not None and known.tried == tried:
        return known
    search = judgement.search = Search(
        Mode.PREEMPT, judgement.height, single.usage, single.contested, tried, targets=judgement.targets
    )
    search.resumes = tried != TO_THE_LAST
    return search


def rejected_single(queue: Queue, workload: Workload, ask: Ask, judge: Judge) -> Search:
    """The search of somebody who is certain to be rejected: in a pool it depends on the queue's own usage alone."""
    known = ask.rejection
    if known is not None and known[0] == queue.stamp:
        return known[1]
    search = find_single(queue, workload, ask, None, judge)
    ask.rejection = queue.stamp, search
    return search
