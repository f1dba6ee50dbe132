"""The same search for flavors, for those who ask for one resource by one pod set and are not told why they wait.

Most workloads of a replay or forecast do, so this one is written to be quick; it decides exactly as `flavors` does.
"""

from portal.admission.asks import Ask, Single
from portal.admission.flavors import Search
from portal.admission.judgements import Judgement, Mode
from portal.admission.judging import Judge
from portal.admission.queue import Queue
from portal.admission.workloads import FlavorScan, Workload

_FIT, _OPEN, _NO_FIT, _NO_CANDIDATES = Mode.FIT, Mode.OPEN, Mode.NO_FIT, Mode.NO_CANDIDATES
_TO_THE_LAST = ((-1,),)


def find_single(
    queue: Queue, workload: Workload, singles: tuple[Single | None, ...], scan: FlavorScan | None, judge: Judge
) -> Search:
    """Search the flavors of one resource."""
    rules = queue.rules
    last = len(singles) - 1
    candidates: list[tuple[Single, Judgement]] = []
    fitting = False
    for index in range(0 if scan is None else scan.start(0, 0), last + 1):
        single = singles[index]
        if single is None:
            continue
        judgement = judge.of_single(queue, single)
        mode = judgement.mode
        if mode is _NO_FIT:
            continue
        if mode is _OPEN and not rules.patient:
            judge.settle(queue, workload, judgement, single.cell, single.amount)
            mode = judgement.mode
        if mode is _FIT:
            if judgement.height == 0 or rules.stops_borrowing:
                return _found(single, judgement, _TO_THE_LAST if index == last else ((index,),))
            fitting = True
        elif mode is not _OPEN and rules.stops([judgement]):
            return _found(single, judgement, _TO_THE_LAST if index == last else ((index,),))
        candidates.append((single, judgement))
    if not candidates:
        return Search(tried=((),))
    return _best(queue, workload, candidates, judge, fitting=fitting)


def _best(
    queue: Queue, workload: Workload, candidates: list[tuple[Single, Judgement]], judge: Judge, *, fitting: bool
) -> Search:
    """The best of those at which the search did not stop, the first among equals."""
    rules = queue.rules
    # Nothing that costs an eviction is better than this.
    top = Mode.PREEMPT if queue.never_reclaims else Mode.RECLAIM
    best: tuple[Single, Judgement] | None = None
    for single, judgement in candidates:
        if judgement.mode is not _FIT:
            if fitting and rules.borrows_first:
                continue
            if judgement.mode is _OPEN:
                judge.settle(queue, workload, judgement, single.cell, single.amount)
        if best is None or rules.preferred((judgement.mode, judgement.height), (best[1].mode, best[1].height)):
            best = single, judgement
            if judgement.mode is top and judgement.height == 0:
                break
    if best is None:
        return Search(tried=((),))
    return _found(best[0], best[1], _TO_THE_LAST)


def _found(single: Single, judgement: Judgement, tried: tuple[tuple[int, ...], ...]) -> Search:
    if judgement.mode is _FIT:
        return Search(_FIT, judgement.height, single.usage, tried=tried, assignment=single.assignment)
    return Search(Mode.PREEMPT, judgement.height, single.usage, single.contested, tried, targets=judgement.targets)


def rejected_single(queue: Queue, workload: Workload, ask: Ask, judge: Judge) -> Search:
    """The search of somebody who is certain to be rejected: in a pool it depends on the queue's own usage alone."""
    known = ask.rejection
    if known is not None and known[0] == queue.stamp and isinstance(known[1], Search):
        return known[1]
    search = find_single(queue, workload, ask.singles or (), None, judge)
    ask.rejection = queue.stamp, search
    return search
