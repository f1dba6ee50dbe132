"""The search for flavors: which flavor each resource of each pod set would get, and what stands in the way.

Every flavor of a resource group is judged by the worst of its resources: it fits, could fit after evictions in other
queues (reclaim), after evictions in the own queue too (preempt), needs evictions that nobody qualifies for, or never
fits. The queue's fungibility settings say when the search stops and which candidate wins.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from portal.admission import messages
from portal.admission.model import Fungibility, FungibilityPolicy, FungibilityPreference, PodSet
from portal.admission.nodes import borrowing_height
from portal.admission.tree import GroupPlan, Queue
from portal.admission.workloads import FlavorScan, Workload, in_resource_order


class Mode(IntEnum):
    """How a flavor could be had, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


# Whether evictions would make room for `amount` of a cell, and the borrowing height afterwards.
Oracle = Callable[[Queue, Workload, int, int], tuple[Mode, int]]
Rank = tuple[Mode, int]
_WORST: Rank = (Mode.NO_FIT, 1 << 30)
_BEST: Rank = (Mode.FIT, 0)


@dataclass(slots=True)
class Choice:
    """A flavor for one resource of a pod set."""

    flavor: str
    cell: int
    mode: Mode
    height: int
    tried: int = -1


@dataclass(slots=True)
class PodSetChoice:
    """The flavors found for one pod set, with the reasons why they are not free."""

    name: str
    count: int
    choices: dict[str, Choice]
    reasons: list[str]
    requests: dict[str, int]


@dataclass(slots=True)
class Search:
    """The result for a workload. `mode`: NO_FIT, PREEMPT or FIT; `usage` by cell; `height` 0: it borrows nothing."""

    podsets: list[PodSetChoice] = field(default_factory=list)
    usage: dict[int, int] = field(default_factory=dict)
    height: int = 0
    mode: Mode = Mode.NO_FIT
    scan: FlavorScan | None = None

    def message(self) -> str:
        """Why the workload cannot be admitted as it is, in Kueue's words."""
        return "; ".join(messages.podset_failed(p.name, p.reasons) for p in self.podsets if p.reasons)

    def contested(self) -> frozenset[int]:
        """The cells that are not free without evictions."""
        return frozenset(c.cell for p in self.podsets for c in p.choices.values() if c.mode is not Mode.FIT)

    def requests(self) -> dict[int, int]:
        """What the workload would use, without the resources of which it asks nothing."""
        return {cell: amount for cell, amount in self.usage.items() if amount}


class FlavorFinder:
    """Searches flavors for one workload in one queue, as the usage stands at the moment."""

    def __init__(self, queue: Queue, workload: Workload, oracle: Oracle, *, fair: bool, text: "AmountText") -> None:
        self.queue = queue
        self.workload = workload
        self.oracle = oracle
        self.text = text
        preemption = queue.spec.preemption
        self.preempts_while_borrowing = preemption.borrow_within_cohort or (
            fair and preemption.reclaim_within_cohort.value != "Never"
        )

    def find(self, counts: list[int] | None, cycle: int) -> Search:
        """Search for all pod sets, with other counts than asked where given; stops at the first that fails."""
        search = Search(scan=FlavorScan([], self.queue.generation, cycle))
        for index, podset in enumerate(self.workload.spec.podsets):
            count = podset.count if counts is None else counts[index]
            found = self._podset(index, podset, count, search.usage)
            self._book(search, found)
            if found.requests and not found.choices:
                search.mode = Mode.NO_FIT
                return search
        worst = min((_podset_mode(p) for p in search.podsets), default=Mode.NO_FIT)
        search.mode = worst if worst in (Mode.FIT, Mode.NO_FIT) else Mode.PREEMPT
        return search

    def _podset(self, index: int, podset: PodSet, count: int, used: Mapping[int, int]) -> PodSetChoice:
        groups = self.queue.groups
        requests = {name: amount * count for name, amount in podset.requests.items()}
        if "pods" in groups:
            requests["pods"] = count
        found = PodSetChoice(podset.name, count, {}, [], requests)
        ordered = in_resource_order(requests)
        for resource in ordered:
            group = groups.get(resource)
            if resource in found.choices or (group is None and not requests[resource]):
                continue
            if group is None:
                found.choices, found.reasons = {}, [messages.not_covered(resource)]
                return found
            wanted = {name: requests[name] for name in ordered if name in group.resources}
            choices, reasons = self._group(index, podset, group, wanted, used)
            if not choices:
                found.choices, found.reasons = {}, reasons
                return found
            found.choices.update(choices)
            found.reasons += reasons
        return found

    def _group(
        self, index: int, podset: PodSet, group: GroupPlan, wanted: Mapping[str, int], used: Mapping[int, int]
    ) -> tuple[dict[str, Choice], list[str]]:
        fungibility = self.queue.spec.fungibility
        best: dict[str, Choice] = {}
        best_rank = _WORST
        reasons: list[str] = []
        scan, attempted = self.workload.scan, -1
        first = 0 if scan is None else scan.start(index, next(iter(wanted)))
        for attempted in range(first, len(group.flavors)):
            name, cells = group.flavors[attempted]
            if podset.flavors_allowed is not None and name not in podset.flavors_allowed:
                reasons.append(messages.flavor_not_matching(name))
                continue
            choices, rank = self._flavor(name, cells, wanted, used, reasons)
            stop = not _look_further(rank, fungibility)
            if stop or _preferred(rank, best_rank, fungibility):
                best, best_rank = choices, rank
            if stop:
                break
        tried = -1 if attempted == len(group.flavors) - 1 else attempted
        for choice in best.values():
            choice.tried = tried
        return best, [] if best_rank[0] is Mode.FIT else reasons

    def _flavor(
        self,
        name: str,
        cells: Mapping[str, int],
        wanted: Mapping[str, int],
        used: Mapping[int, int],
        reasons: list[str],
    ) -> tuple[dict[str, Choice], Rank]:
        """Judge one flavor for all resources of the group; its rank is the worst of them."""
        choices: dict[str, Choice] = {}
        rank = _BEST
        fungibility = self.queue.spec.fungibility
        for resource, amount in wanted.items():
            cell = cells[resource]
            before = used.get(cell, 0)
            mode, height = self._cell(cell, before, amount, reasons)
            if _preferred(rank, (mode, height), fungibility):
                rank = (mode, height)
            if rank[0] is not Mode.NO_FIT:
                choices[resource] = Choice(name, cell, mode, height)
        return choices, rank

    def _cell(self, cell: int, before: int, amount: int, reasons: list[str]) -> tuple[Mode, int]:
        """Judge one flavor and resource for `amount`, `before` being what earlier pod sets take of it."""
        node = self.queue.node
        total = before + amount
        if total > node.maximum(cell):
            reasons.append(self.text.exceeds_maximum(cell, before, amount, node.maximum(cell)))
            return Mode.NO_FIT, 0
        height, below_root = borrowing_height(node, cell, total)
        available = node.available(cell)
        if total <= available:
            return Mode.FIT, height
        reasons.append(self.text.more_needed(cell, total - available))
        if node.nominal[cell] >= total or below_root or self.preempts_while_borrowing:
            if self.queue.never_preempts:
                return Mode.NO_CANDIDATES, height
            return self.oracle(self.queue, self.workload, cell, total)
        return Mode.NO_FIT, height

    @staticmethod
    def _book(search: Search, found: PodSetChoice) -> None:
        search.podsets.append(found)
        tried: dict[str, int] = {}
        for resource, choice in found.choices.items():
            search.height = max(search.height, choice.height)
            search.usage[choice.cell] = search.usage.get(choice.cell, 0) + found.requests[resource]
            tried[resource] = choice.tried
        if search.scan is not None:
            search.scan.last_tried.append(tried)


class AmountText:
    """Turns cells and amounts into Kueue's messages."""

    def __init__(self, names: list[tuple[str, str]], amount: Callable[[str, int], str]) -> None:
        self._names = names
        self._amount = amount

    def exceeds_maximum(self, cell: int, before: int, amount: int, maximum: int) -> str:
        """More than the queue could ever have."""
        flavor, resource = self._names[cell]
        texts = (self._amount(resource, value) for value in (before, amount, maximum))
        return messages.exceeds_maximum(resource, flavor, *texts)

    def more_needed(self, cell: int, missing: int) -> str:
        """The quota is in use."""
        flavor, resource = self._names[cell]
        return messages.more_needed(resource, flavor, self._amount(resource, missing))


class Unsaid(AmountText):
    """Writes no messages, for those who only want to know what is decided."""

    def __init__(self) -> None:
        super().__init__([], lambda _resource, _amount: "")

    def exceeds_maximum(self, cell: int, before: int, amount: int, maximum: int) -> str:
        return ""

    def more_needed(self, cell: int, missing: int) -> str:
        return ""


def _podset_mode(podset: PodSetChoice) -> Mode:
    if not podset.reasons:
        return Mode.FIT
    return min((choice.mode for choice in podset.choices.values()), default=Mode.NO_FIT)


def _look_further(rank: Rank, fungibility: Fungibility) -> bool:
    mode, height = rank
    if mode in (Mode.NO_FIT, Mode.NO_CANDIDATES):
        return True
    if mode is not Mode.FIT and fungibility.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR:
        return True
    return height > 0 and fungibility.when_can_borrow is FungibilityPolicy.TRY_NEXT_FLAVOR


def _preferred(a: Rank, b: Rank, fungibility: Fungibility) -> bool:
    """Whether `a` is the better way to get quota."""
    if Mode.NO_FIT in (a[0], b[0]):
        return a[0] is not Mode.NO_FIT
    if (a[0] is Mode.NO_CANDIDATES) != (b[0] is Mode.NO_CANDIDATES):
        return b[0] is Mode.NO_CANDIDATES
    if fungibility.preference is FungibilityPreference.PREEMPTION_OVER_BORROWING:
        return (-a[1], a[0]) > (-b[1], b[0])
    return (a[0], -a[1]) > (b[0], -b[1])
