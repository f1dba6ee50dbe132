"""What is found out about a cell: how it could be had, and at whose cost."""

from dataclasses import dataclass
from enum import IntEnum

from portal.admission.decisions import PreemptionReason
from portal.admission.workloads import Holder


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
        self.search: object = None
