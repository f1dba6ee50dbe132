"""One scheduling cycle: every queue's head is looked at against one state, then processed in turn.

A cycle changes usage as it goes (admissions stay; what preemptors and hopeless heads set aside is taken back at the
end) and says what became of each head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from portal.admission import messages
from portal.admission.candidates import Request, Target, add_usage, remove_usage
from portal.admission.fairness import fair_targets
from portal.admission.flavors import AmountText, FlavorFinder, Mode, Search
from portal.admission.model import FairSharing, PreemptionPolicy
from portal.admission.nodes import QuotaNode, borrowing_height
from portal.admission.partial import largest_that_fits
from portal.admission.prospects import no_victims, simple
from portal.admission.shares import ShareBook
from portal.admission.tree import Forest, Queue
from portal.admission.turns import Entry, classic_order, fair_order
from portal.admission.victims import classic_targets
from portal.admission.workloads import Workload

Heads = Sequence[tuple[Queue, Workload]]


class Outcome(Enum):
    """What became of a head."""

    ADMITTED = auto()
    PREEMPTING = auto()
    SKIPPED = auto()
    REJECTED = auto()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one head; `message` is empty for an admission."""

    entry: Entry
    outcome: Outcome
    message: str = ""


@dataclass(slots=True)
class Cycle:
    """One cycle, numbered. `run` yields a verdict a head."""

    forest: Forest
    fair: FairSharing | None
    text: AmountText
    number: int
    book: ShareBook = field(init=False)
    _aside: list[tuple[QuotaNode, int, int]] = field(default_factory=list)
    _leaving: dict[str, Workload] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.book = ShareBook(self.forest.cells.names)

    def run(self, heads: Heads, without_hope: Heads = ()) -> list[Verdict]:
        """Look at all heads, then process them in turn; what was only set aside is given back at the end.

        Those known to be without hope take part only for what they set aside.
        """
        entries = [self.nominate(queue, workload) for queue, workload in heads]
        entries += [self._rejected(queue, workload) for queue, workload in without_hope]
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
        scan = workload.scan
        if scan is not None and self.number - scan.cycle > 1 and queue.generation > scan.generation:
            workload.scan = None
        finder = FlavorFinder(queue, workload, self._simulate, fair=self.fair is not None, text=self.text)
        search = finder.find(None, self.number)
        targets = self._targets(queue, workload, search)
        if search.mode is Mode.FIT or targets:
            return Entry(queue, workload, search, targets)
        if any(podset.min_count is not None for podset in workload.spec.podsets):

            def attempt(counts: list[int]) -> Entry | None:
                found = finder.find(counts, self.number)
                victims = self._targets(queue, workload, found)
                return Entry(queue, workload, found, victims) if found.mode is Mode.FIT or victims else None

            reduced = largest_that_fits(workload.spec.podsets, attempt)
            if reduced is not None:
                return reduced
        return Entry(queue, workload, search)

    def _rejected(self, queue: Queue, workload: Workload) -> Entry:
        """The entry of a workload that is certain to be rejected, remembered while its queue's usage stays the same."""
        if not simple(workload):
            return self.nominate(queue, workload)
        known = workload.rejection
        if known is not None and known[0] == queue.version and isinstance(known[1], Search):
            return Entry(queue, workload, known[1])
        finder = FlavorFinder(queue, workload, _nobody, fair=self.fair is not None, text=self.text)
        search = finder.find(None, self.number)
        parent = queue.node.parent
        if parent is None or parent.parent is None:
            workload.rejection = (queue.version, search)
        return Entry(queue, workload, search)

    def _targets(self, queue: Queue, workload: Workload, search: Search) -> list[Target]:
        if search.mode is not Mode.PREEMPT:
            return []
        return self._victims(Request(workload, queue, search.requests(), search.contested()))

    def _victims(self, request: Request) -> list[Target]:
        if request.queue.never_preempts or no_victims(self.forest, request, fair=self.fair is not None):
            return []
        if self.fair is not None:
            return fair_targets(self.forest, self.book, request, self.fair.strategies)
        return classic_targets(self.forest, request)

    def _simulate(self, queue: Queue, workload: Workload, cell: int, amount: int) -> tuple[Mode, int]:
        """Whether evictions could free `amount` of one cell, and how far up it would be borrowed then."""
        targets = self._victims(Request(workload, queue, {cell: amount}, frozenset((cell,))))
        if not targets:
            return Mode.NO_CANDIDATES, borrowing_height(queue.node, cell, amount)[0]
        for target in targets:
            remove_usage(self.forest, target.workload)
        height, _ = borrowing_height(queue.node, cell, amount)
        for target in targets:
            add_usage(self.forest, target.workload)
        own = any(target.workload.spec.queue == queue.spec.name for target in targets)
        return (Mode.PREEMPT if own else Mode.RECLAIM), height

    def _process(self, entry: Entry) -> Verdict:
        search = entry.search
        if search.mode is Mode.NO_FIT:
            return Verdict(entry, Outcome.REJECTED, search.message())
        if search.mode is Mode.PREEMPT and not entry.targets:
            self._reserve(entry)
            return Verdict(entry, Outcome.REJECTED, search.message())
        if any(target.workload.spec.key in self._leaving for target in entry.targets):
            return Verdict(entry, Outcome.SKIPPED, messages.OVERLAPPING_TARGETS)
        if not self._still_fits(entry):
            return Verdict(entry, Outcome.SKIPPED, messages.NO_LONGER_FITS)
        self._leaving.update((target.workload.spec.key, target.workload) for target in entry.targets)
        if search.mode is Mode.PREEMPT:
            for cell, amount in search.usage.items():
                self._set_aside(entry.queue.node, cell, amount)
            message = messages.pending_preemption(search.message(), len(entry.targets))
            return Verdict(entry, Outcome.PREEMPTING, message)
        for cell, amount in search.usage.items():
            entry.queue.node.add(cell, amount)
        return Verdict(entry, Outcome.ADMITTED)

    def _still_fits(self, entry: Entry) -> bool:
        """Whether it fits after those before it in this cycle, once all victims of the cycle would be gone."""
        gone = dict(self._leaving)
        gone.update((target.workload.spec.key, target.workload) for target in entry.targets)
        for workload in gone.values():
            remove_usage(self.forest, workload)
        node = entry.queue.node
        fits = all(node.available(cell) >= amount for cell, amount in entry.search.usage.items())
        for workload in gone.values():
            add_usage(self.forest, workload)
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


def _nobody(queue: Queue, _workload: Workload, cell: int, amount: int) -> tuple[Mode, int]:
    """The oracle for those who can evict nobody."""
    return Mode.NO_CANDIDATES, borrowing_height(queue.node, cell, amount)[0]
