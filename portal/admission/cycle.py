"""One scheduling cycle: every queue's head is looked at against one state, then processed in turn.

A cycle changes usage as it goes (admissions stay; what preemptors and hopeless heads set aside is taken back at the
end) and says what became of each head.
"""

from dataclasses import dataclass
from enum import Enum, auto

from portal.admission import messages
from portal.admission.candidates import add_usage, remove_usage
from portal.admission.forest import Forest
from portal.admission.judgements import Mode
from portal.admission.judging import Judge
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.turns import Entry, classic_order, fair_order
from portal.admission.workloads import Holder


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


class Cycle:
    """One cycle. `run` yields a verdict a head."""

    __slots__ = ("_aside", "_forest", "_judge", "_leaving")

    def __init__(self, forest: Forest, judge: Judge) -> None:
        self._forest = forest
        self._judge = judge
        self._aside: list[tuple[QuotaNode, int, int]] = []
        self._leaving: dict[str, Holder] = {}

    def run(self, entries: list[Entry]) -> list[Verdict]:
        """Process the nominated heads in turn; what was only set aside is given back at the end."""
        judge = self._judge
        turns = classic_order(entries) if judge.fair is None else fair_order(entries, judge.book)
        verdicts = [self._process(entry) for entry in turns]
        if self._aside:
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
            remove_usage(self._forest, holder)
        node = entry.queue.node
        fits = all(node.available(cell) >= amount for cell, amount in entry.search.usage.items())
        for holder in gone:
            add_usage(self._forest, holder)
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
