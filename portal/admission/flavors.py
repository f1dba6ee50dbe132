"""The search for flavors: which flavor each resource of each pod set would get, and what stands in the way.

Every flavor of a resource group is judged by the worst of its resources: it fits, could fit after evictions in other
queues (reclaim), after evictions in the own queue too (preempt), needs evictions that nobody qualifies for, or never
fits. The queue's fungibility settings say when the search stops and which candidate wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from portal.admission import messages
from portal.admission.asks import Ask, GroupAsk, Option, PodSetAsk
from portal.admission.fungibility import WORST
from portal.admission.judgements import FREE, Judgement, Mode, Search
from portal.admission.judging import Judge
from portal.admission.model import PodSetAssignment
from portal.admission.queue import Queue
from portal.admission.texts import AmountText
from portal.admission.workloads import FlavorScan, Workload


@dataclass(slots=True)
class Choice:
    """A flavor for the resources of one group, with the judgements of its cells; `tried` is for the next search."""

    flavor: str
    resources: tuple[str, ...]
    cells: Option
    judgements: list[Judgement]
    tried: int = -1


@dataclass(slots=True)
class PodSetChoice:
    """The flavors found for one pod set, with the reasons why they are not free (when somebody wants to know)."""

    name: str
    count: int
    choices: list[Choice]
    reasons: list[str]


class FlavorFinder:
    """Searches flavors for one workload in one queue, as the usage stands at the moment.

    `text` None: nobody wants to know the reasons.
    """

    def __init__(
        self, queue: Queue, workload: Workload, ask: Ask, scan: FlavorScan | None, judge: Judge, text: AmountText | None
    ) -> None:
        self._queue = queue
        self._workload = workload
        self._ask = ask
        self._scan = scan
        self._judge = judge
        self._text = text
        self._reasons: list[str] = []
        self._rules = queue.rules

    def find(self, podsets: Sequence[PodSetAsk]) -> Search:
        """Search for all pod sets; stops at the first that fails."""
        search = Search()
        found: list[PodSetChoice] = []
        worst: Mode = Mode.FIT
        for index, podset in enumerate(podsets):
            one = self._podset(index, podset, search.usage)
            found.append(one)
            if not one.choices and not podset.nothing:
                worst = Mode.NO_FIT
                break
            for choice in one.choices:
                for (cell, amount), judgement in zip(choice.cells, choice.judgements, strict=True):
                    search.usage[cell] = search.usage.get(cell, 0) + amount
                    search.height = max(search.height, judgement.height)
                    worst = min(worst, judgement.mode)
        search.mode = worst if worst is Mode.FIT or worst is Mode.NO_FIT else Mode.PREEMPT
        search.tried = tuple(tuple(choice.tried for choice in one.choices) for one in found)
        search.resumes = any(index != -1 for indexes in search.tried for index in indexes)
        if search.mode is Mode.FIT:
            search.assignment = _assignment(found)
        elif search.mode is Mode.PREEMPT:
            search.contested = _contested(found)
        if self._text is not None:
            search.message = "; ".join(messages.podset_failed(one.name, one.reasons) for one in found if one.reasons)
        return search

    def _podset(self, index: int, podset: PodSetAsk, used: dict[int, int]) -> PodSetChoice:
        found = PodSetChoice(podset.name, podset.count, [], [])
        for at, group in enumerate(podset.groups):
            first = 0 if self._scan is None else self._scan.start(index, at)
            self._reasons = []
            choice = self._group(group, first, used)
            if choice is None:
                return PodSetChoice(podset.name, podset.count, [], self._reasons)
            found.choices.append(choice)
            if any(judgement.mode is not Mode.FIT for judgement in choice.judgements):
                found.reasons += self._reasons
        if podset.uncovered:
            return PodSetChoice(podset.name, podset.count, [], [messages.not_covered(podset.uncovered)])
        return found

    def _group(self, group: GroupAsk, first: int, used: dict[int, int]) -> Choice | None:
        candidates: list[Choice] = []
        attempted, last = -1, len(group.flavors) - 1
        for attempted in range(first, last + 1):
            name, cells = group.flavors[attempted]
            if cells is None:
                if self._text is not None:
                    self._reasons.append(messages.flavor_not_matching(name))
                continue
            judgements = self._judged(cells, used)
            if judgements is None:
                continue
            choice = Choice(name, group.resources, cells, judgements)
            if judgements.count(FREE) == len(judgements):
                choice.tried = -1 if attempted == last else attempted
                return choice
            if not self._rules.patient:
                self._settle(choice, used)
            candidates.append(choice)
            if self._rules.stops(judgements):
                candidates = [choice]
                break
        best = self._best(candidates, used)
        if best is not None:
            best.tried = -1 if attempted == last else attempted
        return best

    def _judged(self, cells: Option, used: dict[int, int]) -> list[Judgement] | None:
        """Judge one flavor for all resources of the group; None if it can never be had."""
        judgements: list[Judgement] = []
        for cell, amount in cells:
            before = used.get(cell, 0)
            judgement = self._judge.of(self._queue, self._ask, cell, before + amount)
            if self._text is not None and judgement.mode is not Mode.FIT:
                self._reasons.append(self._text.reason(self._queue.node, cell, before, amount))
            judgements.append(judgement)
        return None if any(judgement.mode is Mode.NO_FIT for judgement in judgements) else judgements

    def _settle(self, choice: Choice, used: dict[int, int]) -> None:
        """Work out whom a flavor would evict."""
        for (cell, amount), judgement in zip(choice.cells, choice.judgements, strict=True):
            if judgement.mode is Mode.OPEN:
                self._judge.settle(self._queue, self._workload, judgement, cell, used.get(cell, 0) + amount)

    def _best(self, candidates: list[Choice], used: dict[int, int]) -> Choice | None:
        """The best of those at which the search did not stop, the first among equals."""
        if len(candidates) > 1 and self._rules.borrows_first:
            fitting = [choice for choice in candidates if all(j.mode is Mode.FIT for j in choice.judgements)]
            candidates = fitting or candidates
        if len(candidates) == 1:
            self._settle(candidates[0], used)
            return candidates[0]
        best: Choice | None = None
        best_rank = WORST
        for choice in candidates:
            self._settle(choice, used)
            rank = self._rules.rank(choice.judgements)
            if self._rules.preferred(rank, best_rank):
                best, best_rank = choice, rank
        return best


def _contested(found: list[PodSetChoice]) -> frozenset[int]:
    return frozenset(
        cell
        for podset in found
        for choice in podset.choices
        for (cell, _), judgement in zip(choice.cells, choice.judgements, strict=True)
        if judgement.mode is not Mode.FIT
    )


def _assignment(found: list[PodSetChoice]) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(
            podset.name,
            {resource: choice.flavor for choice in podset.choices for resource in choice.resources},
            podset.count,
        )
        for podset in found
    )
