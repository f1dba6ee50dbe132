"""Bands corrected by how past ones did: split conformal prediction (Vovk 2005), one side at a time. Pure; in seconds.

A forecast's error is told in its own half-widths, from its middle to the end on that side. The nine-tenths quantile of
the errors of past forecasts is by how much this side has to be wider or narrower for nine of ten starts to be on the
right side of it. How far ahead matters: forecasts are compared with those that looked about as far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor

from quotas.planning.forecast import Estimate

LEAST_OUTCOMES, MOST_OUTCOMES = 15, 1000
# A class of its own stands beside what is known of all: as much as so many outcomes of the wider one.
PRIOR = 10
NARROWEST, WIDEST = 0.5, 4.0
NEAR_S, FAR_S = 300.0, 3600.0
SHARE = 0.9
LEAST_WIDTH_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """A past forecast as it was played (before any correction), and its start: seconds on one clock.

    `started` may also be a time until which it has not started, where that is after `p90` already.
    """

    made: float
    p10: float
    p50: float
    p90: float
    started: float


@dataclass(frozen=True)
class Stretch:
    """By how much the two halves of a band are made wider (above 1) or narrower."""

    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True)
class Correction:
    """How to correct bands: one stretch for each class of distance."""

    classes: Sequence[Stretch] = (Stretch(), Stretch(), Stretch())

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Correction:
        """From the newest outcomes; no correction before there are a dozen or so."""
        found = list(outcomes)[-MOST_OUTCOMES:]
        if len(found) < LEAST_OUTCOMES:
            return cls()
        whole = _stretch(found, Stretch())
        by_class: Mapping[int, list[Outcome]] = {at: [] for at in range(3)}
        for one in found:
            by_class[_class(one.p50 - one.made)].append(one)
        return cls(tuple(_stretch(mine, whole) for mine in by_class.values()))

    def applied(self, estimate: Estimate, now: float) -> Estimate:
        """The band as far apart as past starts were; never before now, the middle stays."""
        p10, p50, p90 = estimate.p10, estimate.p50, estimate.p90
        if p10 is None or p50 is None or p90 is None:
            return estimate
        by = self.classes[_class(p50 - now)]
        low, high = max(p50 - p10, LEAST_WIDTH_S), max(p90 - p50, LEAST_WIDTH_S)
        low, high = (p50 - p10 if by.low == 1 else by.low * low), (p90 - p50 if by.high == 1 else by.high * high)
        return replace(estimate, p10=max(min(now, p10), p50 - low), p90=p50 + high)


AS_PLAYED = Correction()


def _class(away: float) -> int:
    return bisect_right((NEAR_S, FAR_S), away)


def _stretch(outcomes: Sequence[Outcome], wider: Stretch) -> Stretch:
    early = [(one.p50 - one.started) / max(one.p50 - one.p10, LEAST_WIDTH_S) for one in outcomes]
    late = [(one.started - one.p50) / max(one.p90 - one.p50, LEAST_WIDTH_S) for one in outcomes]
    return Stretch(_factor(early, wider.low), _factor(late, wider.high))


def _factor(errors: Sequence[float], wider: float) -> float:
    """Between the quantile of these errors and what holds for the wider class: the more errors, the nearer to them."""
    if not errors:
        return wider
    ordered = sorted(errors)
    at = min(SHARE * (len(ordered) + 1), float(len(ordered))) - 1
    below, above = ordered[floor(at)], ordered[ceil(at)]
    quantile = min(max(below + (above - below) * (at - floor(at)), NARROWEST), WIDEST)
    return (len(errors) * quantile + PRIOR * wider) / (len(errors) + PRIOR)
