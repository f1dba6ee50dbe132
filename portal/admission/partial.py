"""Partial admission: the search for the largest pod counts that can be had."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TypeVar

from portal.admission.model import PodSet

T = TypeVar("T")


def largest_that_fits(podsets: Sequence[PodSet], attempt: Callable[[list[int]], T | None]) -> T | None:
    """Walk from full counts towards the minima by binary search; `attempt` answers None where it does not fit.

    Kueue assumes that fewer pods fit whenever more do. Where that is not so, its search may miss, and so does this.
    """
    deltas = [podset.count - (podset.count if podset.min_count is None else podset.min_count) for podset in podsets]
    total = sum(deltas)
    if total == 0:
        return None
    found: dict[int, T] = {}

    def fits(step: int) -> bool:
        counts = [podset.count - delta * step // total for podset, delta in zip(podsets, deltas, strict=True)]
        result = attempt(counts)
        if result is not None:
            found[step] = result
        return result is not None

    step = bisect_left(range(total + 1), True, key=fits)
    return found.get(step)
