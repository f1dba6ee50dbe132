"""One scheduling cycle: every queue's head is looked at against one state, then processed in turn.

A cycle changes usage as it goes (admissions stay; what preemptors and hopeless heads set aside is taken back at the
end) and says what became of each head.
"""

from portal.admission import messages
from portal.admission.candidates import add_usage, remove_usage
from portal.admission.forest import Forest
from portal.admission.judgements import Mode
from portal.admission.judging import Judge
from portal.admission.model import PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.turns import Entry, Outcome, classic_order, fair_order
from portal.admission.workloads import Holder


class Cycle:
    """One cycle. `run` settles what becomes of each head."""

    __slots__ = ("_aside", "_forest", "_judge", "_leaving")

    def __init__(self, forest: Forest, judge: Judge) -> None:
        self._forest = forest
        self._judge = judge
        self._aside: list[tuple[QuotaNode, int, int]] = []
        self._leaving: dict[str, Holder] = {}

    def run(self, entries: list[Entry]) -> list[Entry]:
        """Process the nominated heads in turn; what was only set aside is given back at the end."""
        judge = self._judge
        turns = classic_order(entries) if judge.fair is None else fair_order(entries, judge.book)
        processed = []
        for entry in turns:
            entry.outcome = self._process(entry)
            processed.append(entry)
        if self._aside:
            self._give_back()
        return processed

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

    def _process(self, entry: Entry) -> Outcome:
        search = entry.search
        if search.mode is not Mode.FIT and not entry.targets:
            if search.mode is Mode.PREEMPT:
                self._reserve(entry)
            entry.message = search.message
            return Outcome.REJECTED
        if self._leaving and any(target.holder.key in self._leaving for target in entry.targets):
            entry.message = messages.OVERLAPPING_TARGETS
            return Outcome.SKIPPED
        if not self._still_fits(entry):
            entry.message = messages.NO_LONGER_FITS
            return Outcome.SKIPPED
        node = entry.queue.node
        if search.mode is Mode.FIT:
            for cell, amount in search.usage.items():
                node.add(cell, amount)
            return Outcome.ADMITTED
        for target in entry.targets:
            self._leaving[target.holder.key] = target.holder
        for cell, amount in search.usage.items():
            self._set_aside(node, cell, amount)
        entry.message = messages.pending_preemption(search.message, len(entry.targets))
        return Outcome.PREEMPTING

    def _still_fits(self, entry: Entry) -> bool:
        """Whether it fits after those before it in this cycle, once all victims of the cycle would be gone."""
        pool = entry.queue.pool
        if pool is not None and not self._leaving and not entry.targets:
            return all(pool.subtree[cell] - pool.usage[cell] >= amount for cell, amount in entry.search.usage.items())
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
