"""One scheduling cycle: every queue's head is looked at against one state, then processed in turn.

A cycle changes usage as it goes (admissions stay; what preemptors and hopeless heads set aside is taken back at the
end) and says what became of each head.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from portal.admission import messages
from portal.admission.asks import Ask, podset_ask
from portal.admission.candidates import Request, add_usage, remove_usage
from portal.admission.fairness import fair_targets
from portal.admission.flavors import FlavorFinder, Search
from portal.admission.forest import Forest
from portal.admission.judgements import Mode, Target
from portal.admission.judging import Judge
from portal.admission.model import FairSharing, PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.partial import largest_that_fits
from portal.admission.prospects import no_victims
from portal.admission.queue import Queue
from portal.admission.shares import ShareBook
from portal.admission.singles import find_single
from portal.admission.texts import AmountText
from portal.admission.turns import Entry, classic_order, fair_order
from portal.admission.victims import classic_targets
from portal.admission.workloads import FlavorScan, Holder, Workload

Heads = Sequence[tuple[Queue, Workload]]


class Outcome(Enum):
    """What became of a head."""

    ADMITTED = auto()
    PREEMPTING = auto()
    SKIPPED = auto()
    REJECTED = auto()


@dataclass(slots=True)
class Verdict:
    """The outcome for one head; `message` is empty for an admission."""

    entry: Entry
    outcome: Outcome
    message: str = ""


@dataclass(slots=True)
class Cycle:
    """One cycle, numbered. `run` yields a verdict a head; `text` None: nobody wants to know why.

    `scans`: by key, where the search for flavors goes on for heads that were tried before.
    """

    forest: Forest
    fair: FairSharing | None
    text: AmountText | None
    number: int
    scans: Mapping[str, FlavorScan]
    book: ShareBook = field(init=False)
    judge: Judge = field(init=False)
    _aside: list[tuple[QuotaNode, int, int]] = field(default_factory=list)
    _leaving: dict[str, Holder] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.book = ShareBook(self.forest.cells.names)
        self.judge = Judge(self.forest, self._victims, fair=self.fair is not None)

    def run(self, heads: Heads) -> list[Verdict]:
        """Look at all heads, then process them in turn; what was only set aside is given back at the end."""
        entries = [self.nominate(queue, workload) for queue, workload in heads]
        verdicts = [self._process(entry) for entry in self._turns(entries)]
        self._give_back()
        return verdicts

    def _give_back(self) -> None:
        skewed = any(amount < 0 for _, _, amount in self._aside)
        for node, cell, amount in reversed(self._aside):
            if skewed:
                node.usage[cell] -= amount
            else:
                node.remove(cell, amount)
        if skewed:
            # A negative reservation (quota lowered below the use) is not passed upward, so derive it all again.
            for root in {node.root() for node, _, _ in self._aside}:
                root.recompute()
        self._aside.clear()

    def _turns(self, entries: list[Entry]) -> Iterator[Entry]:
        return classic_order(entries) if self.fair is None else fair_order(entries, self.book)

    def nominate(self, queue: Queue, workload: Workload) -> Entry:
        """What the workload would get as things stand: with all its pods, or with as many as can be had."""
        scan = self.scans.get(workload.key) if self.scans else None
        if scan is not None and self.number - scan.cycle > 1 and queue.generation > scan.generation:
            scan = None
        ask = queue.ask(workload.shape)
        if self.text is None and ask.singles is not None:
            search = find_single(queue, workload, ask.singles, scan, self.judge)
            return Entry(queue, workload, search, self._targets(queue, workload, ask, search))
        finder = FlavorFinder(queue, workload, ask, scan, self.judge, self.text)
        search = finder.find(ask.podsets)
        targets = self._targets(queue, workload, ask, search)
        if search.mode is Mode.FIT or targets or not workload.shape.partial:
            return Entry(queue, workload, search, targets)
        podsets = workload.shape.podsets

        def attempt(counts: list[int]) -> Entry | None:
            asked = [podset_ask(queue.groups, podset, n) for podset, n in zip(podsets, counts, strict=True)]
            found = finder.find(asked)
            victims = self._targets(queue, workload, ask, found)
            return Entry(queue, workload, found, victims) if found.mode is Mode.FIT or victims else None

        return largest_that_fits(podsets, attempt) or Entry(queue, workload, search)

    def _targets(self, queue: Queue, workload: Workload, ask: Ask, search: Search) -> list[Target]:
        """Whom the search's result would evict; remembered with the ask while its cells stay as they are."""
        if search.mode is not Mode.PREEMPT:
            return []
        if search.targets is not None:
            return search.targets
        usage = {cell: amount for cell, amount in search.usage.items() if amount}
        contested = search.contested
        request = Request(workload, queue, usage, contested)
        if queue.by_age or not usage:
            return self._victims(request)
        if len(usage) == 1 and len(contested) == 1:
            # The same request that was simulated to judge the flavor.
            ((cell, amount),) = usage.items()
            return ask.judged[cell, amount].targets
        tree = queue.tree
        stamp = tree.stamp if self.fair is not None else max(tree.stamps[cell] for cell in usage)
        key = (*usage.items(), contested)
        known = ask.victims.get(key)
        if known is None or known[0] != stamp:
            known = ask.victims[key] = stamp, self._victims(request)
        return known[1]

    def _victims(self, request: Request) -> list[Target]:
        if request.queue.never_preempts or no_victims(request, fair=self.fair is not None):
            return []
        if self.fair is not None:
            return fair_targets(self.forest, self.book, request, self.fair.strategies)
        return classic_targets(self.forest, request)

    def _process(self, entry: Entry) -> Verdict:
        search = entry.search
        if search.mode is Mode.NO_FIT:
            return self._rejected(entry)
        if search.mode is Mode.PREEMPT and not entry.targets:
            self._reserve(entry)
            return self._rejected(entry)
        if self._leaving and any(target.holder.key in self._leaving for target in entry.targets):
            return Verdict(entry, Outcome.SKIPPED, messages.OVERLAPPING_TARGETS)
        if not self._still_fits(entry):
            return Verdict(entry, Outcome.SKIPPED, messages.NO_LONGER_FITS)
        for target in entry.targets:
            self._leaving[target.holder.key] = target.holder
        if search.mode is Mode.PREEMPT:
            for cell, amount in search.usage.items():
                self._set_aside(entry.queue.node, cell, amount)
            message = messages.pending_preemption(search.message, len(entry.targets))
            return Verdict(entry, Outcome.PREEMPTING, message)
        for cell, amount in search.usage.items():
            entry.queue.node.add(cell, amount)
        return Verdict(entry, Outcome.ADMITTED)

    @staticmethod
    def _rejected(entry: Entry) -> Verdict:
        return Verdict(entry, Outcome.REJECTED, entry.search.message)

    def _still_fits(self, entry: Entry) -> bool:
        """Whether it fits after those before it in this cycle, once all victims of the cycle would be gone."""
        gone = list(self._leaving.values())
        gone += [target.holder for target in entry.targets if target.holder.key not in self._leaving]
        for holder in gone:
            remove_usage(self.forest, holder)
        node = entry.queue.node
        fits = all(node.available(cell) >= amount for cell, amount in entry.search.usage.items())
        for holder in gone:
            add_usage(self.forest, holder)
        return fits

    def _reserve(self, entry: Entry) -> None:
        """Keep quota for a head that must wait without victims, so that others of this cycle do not take it.

        A queue that can always reclaim does not need that.
        """
        queue, search = entry.queue, entry.search
        if queue.spec.preemption.reclaim_within_cohort is PreemptionPolicy.ANY:
            return
        node = queue.node
        for cell, amount in search.usage.items():
            limit = node.borrowing_limit[cell]
            if search.height == 0:
                kept = max(0, min(amount, node.nominal[cell] - node.usage[cell]))
            elif limit is None:
                kept = amount
            else:
                kept = min(amount, node.nominal[cell] + limit - node.usage[cell])
            self._set_aside(node, cell, kept)

    def _set_aside(self, node: QuotaNode, cell: int, amount: int) -> None:
        node.add(cell, amount)
        self._aside.append((node, cell, amount))
