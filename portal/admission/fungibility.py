"""Which of several flavors is the better way to get quota, and when the search for one ends."""

from portal.admission.judgements import Judgement, Mode
from portal.admission.model import Fungibility, FungibilityPolicy, FungibilityPreference

Rank = tuple[Mode, int]
_BEST: Rank = (Mode.FIT, 0)
WORST: Rank = (Mode.NO_FIT, 1 << 30)


class Rules:
    """A queue's `flavorFungibility` at work.

    `patient`: an eviction never ends the search, so it is worked out only if nothing better turns up.
    """

    __slots__ = ("borrows_first", "patient", "stops_borrowing")

    def __init__(self, fungibility: Fungibility) -> None:
        self.patient = fungibility.when_can_preempt is FungibilityPolicy.TRY_NEXT_FLAVOR
        self.stops_borrowing = fungibility.when_can_borrow is FungibilityPolicy.MAY_STOP_SEARCH
        self.borrows_first = fungibility.preference is FungibilityPreference.BORROWING_OVER_PREEMPTION

    def rank(self, judgements: list[Judgement]) -> Rank:
        """How good a flavor is: the worst of its cells."""
        rank = _BEST
        for judgement in judgements:
            one = judgement.mode, judgement.height
            if self.preferred(rank, one):
                rank = one
        return rank

    def stops(self, judgements: list[Judgement]) -> bool:
        """Whether the search ends at this flavor."""
        if any(judgement.mode is Mode.OPEN for judgement in judgements):
            return False
        mode, height = self.rank(judgements)
        if mode is Mode.NO_CANDIDATES or (mode is not Mode.FIT and self.patient):
            return False
        return height == 0 or self.stops_borrowing

    def preferred(self, a: Rank, b: Rank) -> bool:
        """Whether `a` is the better way to get quota."""
        if Mode.NO_FIT in (a[0], b[0]):
            return a[0] is not Mode.NO_FIT
        if (a[0] is Mode.NO_CANDIDATES) != (b[0] is Mode.NO_CANDIDATES):
            return b[0] is Mode.NO_CANDIDATES
        if self.borrows_first:
            return (a[0], -a[1]) > (b[0], -b[1])
        return (-a[1], a[0]) > (-b[1], b[0])
