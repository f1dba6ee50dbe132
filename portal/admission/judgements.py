"""What is found out about a cell: how it could be had, and at whose cost."""

from dataclasses import dataclass, field
from enum import IntEnum

from portal.admission.decisions import PreemptionReason
from portal.admission.model import PodSetAssignment
from portal.admission.workloads import Holder

# Per pod set and group the index of the flavor at which a search stopped (-1: at the last).
Tried = tuple[tuple[int, ...], ...]
TO_THE_LAST: Tried = ((-1,),)


class Mode(IntEnum):
    """How a flavor could be had, worst first; OPEN: only by evictions, and it is not worked out yet whose."""

    OPEN = -1
    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


@dataclass(frozen=True, slots=True)
class Target:
    """A chosen victim, and by which rule."""

    holder: Holder
    reason: PreemptionReason


@dataclass(slots=True)
class Search:
    """The result for a workload. `mode`: NO_FIT, PREEMPT or FIT; `usage` by cell; `height` 0: it borrows nothing.

    `contested` are the cells that are not free without evictions, `tried` per pod set and group the index of the flavor
    at which the search stopped (-1: at the last); `targets`: whom it would evict, where that is known already.
    """

    mode: Mode = Mode.NO_FIT
    height: int = 0
    usage: dict[int, int] = field(default_factory=dict)
    contested: frozenset[int] = frozenset()
    tried: Tried = ()
    assignment: tuple[PodSetAssignment, ...] = ()
    targets: list[Target] | None = None
    message: str = ""
    # There are flavors that the search did not look at.
    resumes: bool = False


class Judgement:
    """How a cell could be had, how far up it would be borrowed then, and whom it would cost its quota.

    It holds for the state of the cell that `stamp` names.
    """

    __slots__ = ("height", "mode", "search", "stamp", "targets")

    def __init__(self, stamp: int, mode: Mode, height: int) -> None:
        self.stamp = stamp
        self.mode = mode
        self.height = height
        self.targets: list[Target] = []
        # What a search that ended with it has found.
        self.search: Search | None = None


# Free within the queue's own quota: the best there is.
FREE = Judgement(0, Mode.FIT, 0)
