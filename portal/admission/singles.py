"""The same search for flavors, for those who ask for one resource by one pod set and are not told why they wait.

Most workloads of a replay or forecast do, so this one is written to be quick; it decides exactly as `flavors` does.
"""

from portal.admission.asks import Ask, Single, Tried
from portal.admission.flavors import Search
from portal.admission.fungibility import WORST
from portal.admission.judgements import Judgement, Mode
from portal.admission.judging import Judge
from portal.admission.queue import Queue
from portal.admission.workloads import FlavorScan, Workload

_FIT, _OPEN, _NO_FIT = Mode.FIT, Mode.OPEN, Mode.NO_FIT
_TO_THE_LAST: Tried = ((-1,),)
_NOTHING = Search(tried=((),))


def find_single(
    queue: Queue, workload: Workload, singles: tuple[Single | None, ...], scan: FlavorScan | None, judge: Judge
) -> Search:
    """Search the flavors of one resource."""
    rules, stamps = queue.rules, judge.stamps(queue)
    candidates: list[Single] = []
    fitting = False
    for single in singles if scan is None else singles[scan.start(0, 0) :]:
        if single is None:
            continue
        judgement = single.judgement
        if judgement is None or judgement.stamp != stamps[single.cell] or queue.by_age:
            judgement = judge.of_single(queue, workload, single)
        mode = judgement.mode
        if mode is _NO_FIT:
            continue
        if mode is _OPEN and not rules.patient:
            judge.settle(queue, workload, judgement, single.cell, single.amount)
            mode = judgement.mode
        if mode is _FIT:
            if judgement.height == 0 or rules.stops_borrowing:
                return _found(single, judgement, single.tried)
            fitting = True
        elif mode is not _OPEN and rules.stops([judgement]):
            return _found(single, judgement, single.tried)
        candidates.append(single)
    return _best(queue, workload, candidates, judge, fitting=fitting)


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
    return _found(best, best.judgement, _TO_THE_LAST)


def _found(single: Single, judgement: Judgement, tried: Tried) -> Search:
    known = judgement.search
    if isinstance(known, Search) and known.tried == tried:
        return known
    if judgement.mode is _FIT:
        search = Search(_FIT, judgement.height, single.usage, tried=tried, assignment=single.assignment)
    else:
        targets = judgement.targets
        search = Search(Mode.PREEMPT, judgement.height, single.usage, single.contested, tried, targets=targets)
    search.resumes = tried != _TO_THE_LAST
    judgement.search = search
    return search


def rejected_single(queue: Queue, workload: Workload, ask: Ask, judge: Judge) -> Search:
    """The search of somebody who is certain to be rejected: in a pool it depends on the queue's own usage alone."""
    known = ask.rejection
    if known is not None and known[0] == queue.stamp and isinstance(known[1], Search):
        return known[1]
    search = find_single(queue, workload, ask.singles or (), None, judge)
    ask.rejection = queue.stamp, search
    return search
