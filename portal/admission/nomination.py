"""What a head would get as things stand, before the cycle decides whose turn it is."""

from portal.admission.asks import Ask, podset_ask
from portal.admission.candidates import Request
from portal.admission.flavors import FlavorFinder
from portal.admission.judgements import Mode, Search, Target
from portal.admission.judging import Judge
from portal.admission.partial import largest_that_fits
from portal.admission.queue import Queue
from portal.admission.singles import find_single
from portal.admission.texts import AmountText
from portal.admission.turns import Entry
from portal.admission.workloads import FlavorScan, Workload


def nominate(judge: Judge, queue: Queue, workload: Workload, scan: FlavorScan | None, text: AmountText | None) -> Entry:
    """The workload with all its pods, or with as many as can be had; `text` None: nobody wants to know why not."""
    ask = queue.asks[workload.shape]
    if text is None and ask.singles is not None:
        search = find_single(queue, workload, ask, scan, judge)
        return Entry(queue, workload, search, search.targets or [])
    finder = FlavorFinder(queue, workload, ask, scan, judge, text)
    search = finder.find(ask.podsets)
    targets = _targets(judge, queue, workload, ask, search)
    if search.mode is Mode.FIT or targets or not workload.shape.partial:
        return Entry(queue, workload, search, targets)
    podsets = workload.shape.podsets

    def attempt(counts: list[int]) -> Entry | None:
        asked = [podset_ask(queue.groups, podset, n) for podset, n in zip(podsets, counts, strict=True)]
        found = finder.find(asked)
        victims = _targets(judge, queue, workload, ask, found)
        return Entry(queue, workload, found, victims) if found.mode is Mode.FIT or victims else None

    return largest_that_fits(podsets, attempt) or Entry(queue, workload, search, [])


def _targets(judge: Judge, queue: Queue, workload: Workload, ask: Ask, search: Search) -> list[Target]:
    """Whom the search's result would evict; remembered with the ask while its cells stay as they are."""
    if search.mode is not Mode.PREEMPT:
        return []
    if search.targets is not None:
        return search.targets
    usage = {cell: amount for cell, amount in search.usage.items() if amount}
    contested = search.contested
    request = Request(workload, queue, usage, contested)
    if queue.by_age or not usage:
        return judge.victims(request)
    if len(usage) == 1 and len(contested) == 1:
        # The same request that was simulated to judge the flavor.
        ((cell, amount),) = usage.items()
        return ask.judged[cell, amount].targets
    tree = queue.tree
    stamp = tree.stamp if judge.fair is not None else max(tree.stamps[cell] for cell in usage)
    key = (*usage.items(), contested)
    known = ask.victims.get(key)
    if known is None or known[0] != stamp:
        known = ask.victims[key] = stamp, judge.victims(request)
    return known[1]
