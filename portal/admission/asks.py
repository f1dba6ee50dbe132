"""What a workload asks of its queue's resource groups: flavors, cells and amounts, worked out once for a whole shape.

An ask also remembers what was found out about it. Each memory carries the stamp of the cells that it depends on, and
no two states of a cell share a stamp, so what is remembered holds exactly as long as the stamp is the cell's own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from portal.admission.judgements import TO_THE_LAST, Judgement, Mode, Search, Target, Tried
from portal.admission.model import PodSet, PodSetAssignment
from portal.admission.workloads import in_resource_order

# What one flavor has to provide: amounts by cell.
Option = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A resource group prepared for the search: per flavor its name and the cells by resource."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, dict[str, int]], ...]


@dataclass(frozen=True, slots=True)
class GroupAsk:
    """What a pod set asks of one group, per flavor in order; the option of a flavor that its pods exclude is None."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, Option | None], ...]


@dataclass(frozen=True, slots=True)
class PodSetAsk:
    """What a pod set asks, group by group in search order; `uncovered` names a resource that the queue has not."""

    name: str
    count: int
    groups: tuple[GroupAsk, ...]
    uncovered: str
    nothing: bool


def podset_ask(groups: Mapping[str, GroupPlan], podset: PodSet, count: int) -> PodSetAsk:
    """What `count` pods of the set ask of a queue with these groups (by resource)."""
    requests = {name: amount * count for name, amount in podset.requests.items()}
    if "pods" in groups:
        requests["pods"] = count
    ordered = in_resource_order(list(requests))
    asked: dict[int, GroupAsk] = {}
    uncovered = ""
    for resource in ordered:
        plan = groups.get(resource)
        if plan is None and requests[resource]:
            uncovered = resource
            break
        if plan is not None and id(plan) not in asked:
            names = tuple(name for name in ordered if name in plan.resources)
            options = (
                tuple((cells[name], requests[name]) for name in names) if _allows(podset, flavor) else None
                for flavor, cells in plan.flavors
            )
            flavors = (flavor for flavor, _ in plan.flavors)
            asked[id(plan)] = GroupAsk(names, tuple(zip(flavors, options, strict=True)))
    return PodSetAsk(podset.name, count, tuple(asked.values()), uncovered, not requests)


def _allows(podset: PodSet, flavor: str) -> bool:
    return podset.flavors_allowed is None or flavor in podset.flavors_allowed


class Single:
    """One flavor of an ask for one resource by one pod set: everything that can be said of it beforehand."""

    __slots__ = (
        "amount",
        "assignment",
        "barren",
        "cell",
        "contested",
        "fits",
        "fits_borrowing",
        "judgement",
        "need",
        "need_at",
        "tried",
        "usage",
    )

    def __init__(self, podset: PodSetAsk, resource: str, flavor: str, option: Option, tried: int) -> None:
        ((self.cell, self.amount),) = option
        self.tried: Tried = ((tried,),)
        self.usage = {self.cell: self.amount}
        self.contested = frozenset((self.cell,))
        self.assignment = (PodSetAssignment(podset.name, {resource: flavor}, podset.count),)
        # What a search finds that stops here because it is free, within the queue's own quota or borrowed.
        self.fits = self.free(0, self.tried)
        self.fits_borrowing = self.fits
        # How the cell could be had, and the stamp at which nothing could come of it.
        self.judgement: Judgement | None = None
        self.barren = 0
        # How much has to be free so that something may come of it; it holds for that stamp of the queue.
        self.need = self.amount
        self.need_at = 0

    def free(self, height: int, tried: Tried) -> Search:
        """What a search finds that chooses this flavor, which is free."""
        resumes = tried != TO_THE_LAST
        return Search(Mode.FIT, height, self.usage, tried=tried, assignment=self.assignment, resumes=resumes)

    def borrowed(self, height: int) -> Search:
        """The same where the search stops here and it is borrowed from so far up."""
        if self.fits_borrowing.height != height:
            self.fits_borrowing = self.free(height, self.tried)
        return self.fits_borrowing


@dataclass(slots=True, eq=False)
class Ask:
    """What all workloads of a shape ask of one queue, in full.

    `least`: per group in which a shortage settles it, the options with the fewest pods. `singles`: by flavor, for the
    common ask for one resource by one pod set, else None; a flavor that the pods exclude is None, and missing in
    `offered` and `by_cell`.
    """

    podsets: tuple[PodSetAsk, ...]
    least: tuple[tuple[Option, ...], ...]
    singles: tuple[Single | None, ...] | None
    offered: tuple[Single, ...]
    by_cell: dict[int, Single]
    # The last proof, over a whole tree, that nobody had a chance in which these had none either.
    proof: int = 0
    # The search of those who are certain to be rejected, by the stamp of the queue's own usage (`singles`).
    rejection: tuple[int, Search] | None = None
    # By cell and amount: how that cell could be had.
    judged: dict[tuple[int, int], Judgement] = field(default_factory=dict)
    # By usage and contested cells: the victims for it, with their stamp.
    victims: dict[tuple[object, ...], tuple[int, list[Target]]] = field(default_factory=dict)
    # By option: the stamp at which nothing could come of it.
    barren: dict[Option, int] = field(default_factory=dict)


def ask_of(groups: Mapping[str, GroupPlan], podsets: Sequence[PodSet]) -> Ask:
    """What pod sets ask of a queue with these groups (by resource)."""
    full = tuple(podset_ask(groups, podset, podset.count) for podset in podsets)
    partial = any(podset.min_count is not None for podset in podsets)
    fewest = [
        podset_ask(groups, podset, podset.count if podset.min_count is None else podset.min_count) for podset in podsets
    ]
    asked = [group for podset in fewest for group in podset.groups]
    wide = [at for at, group in enumerate(asked) if len(group.flavors) > 1]
    covered = not any(podset.uncovered for podset in fewest)
    # A search that stopped early in another group goes on with that group's next flavors: then it is no rejection yet.
    least = tuple(
        tuple(option for _, option in group.flavors if option is not None)
        for at, group in enumerate(asked)
        if covered and wide in ([], [at])
    )
    singles = None if partial or not covered else _singles(full)
    offered = tuple(single for single in singles or () if single is not None)
    return Ask(full, least, singles, offered, {single.cell: single for single in offered})


def _singles(podsets: Sequence[PodSetAsk]) -> tuple[Single | None, ...] | None:
    if len(podsets) != 1 or len(podsets[0].groups) != 1 or len(podsets[0].groups[0].resources) != 1:
        return None
    (podset,) = podsets
    (group,) = podset.groups
    (resource,) = group.resources
    if any(option is not None and option[0][1] == 0 for _, option in group.flavors):
        return None
    last = len(group.flavors) - 1
    return tuple(
        None if option is None else Single(podset, resource, flavor, option, -1 if index == last else index)
        for index, (flavor, option) in enumerate(group.flavors)
    )
