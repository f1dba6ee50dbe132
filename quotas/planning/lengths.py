"""How long work lasts: a survival curve of what ran alike before, and draws from it. Pure; times in seconds.

A curve is built from ended intervals and from those that were cut short (preempted, still running), of which only a
least length is known. Its steps are those of Berliner and Hill (1988): the next length is as likely to fall into any
of the gaps between the lengths seen so far, so that few observations give a wide curve and not a sure one. Beyond the
longest interval ever seen, what has lasted t lasts twice as long in half of the cases.

What few observations leave open is the same for everybody of a kind: in one course of things all of a curve's lengths
are drawn from one `Warp` of it, so that they are long together or short together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

LEAST_ENDED = 5  # ended intervals that a group needs before anything is said from it
MOST_POINTS = 64
SHORTEST = 1.0
LEAST_SHARE = 1e-6


@dataclass(frozen=True)
class Template:
    """What tells which runs are alike. `limit_s`: the longest that this run may hold quota; None without limit."""

    tenant: str
    kind: str
    variant: str = ""
    flavor: str = ""
    image: str = ""
    limit_s: float | None = None

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Its groups of similar runs, the narrowest first."""
        kind, variant, flavor = self.kind, self.variant, self.flavor
        return (
            (self.tenant, kind, variant, flavor, self.image),
            (self.tenant, kind, variant, flavor),
            (self.tenant, kind, variant),
            (self.tenant, kind),
            (kind, variant, flavor),
            (kind,),
        )


@dataclass(frozen=True)
class Interval:
    """How long one run held quota. Not `ended`: it goes on, or somebody else ended it; it would have lasted longer."""

    template: Template
    seconds: float
    ended: bool


@dataclass(frozen=True)
class Warp:
    """One of the curves that a curve's observations leave possible: the true shares (0 to 1) at its quarters.

    A Polya tree of two levels (Lavine 1992): each split of the observations is as sure as their number makes it.
    """

    quarters: tuple[float, float, float] = (0.25, 0.5, 0.75)

    @classmethod
    def drawn(cls, rng: Random, observed: float) -> Warp:
        """`observed`: how many ended intervals the curve was made from."""
        half, quarter = max(observed, 1.0) / 2, max(observed, 1.0) / 4
        middle = rng.betavariate(half, half)
        below, above = rng.betavariate(quarter, quarter), rng.betavariate(quarter, quarter)
        return cls((middle * below, middle, middle + (1 - middle) * above))

    def true(self, share: float) -> float:
        """The true share for one of the curve."""
        ends = (0.0, *self.quarters, 1.0)
        at = min(3, int(share * 4))
        return ends[at] + (ends[at + 1] - ends[at]) * (share * 4 - at)

    def of_curve(self, share: float) -> float:
        """The curve's share for a true one."""
        ends = (0.0, *self.quarters, 1.0)
        at = min(3, bisect_right(self.quarters, share))
        span = ends[at + 1] - ends[at]
        return (at + ((share - ends[at]) / span if span > 0 else 0.0)) / 4


AS_SEEN = Warp()


@dataclass(frozen=True)
class Curve:
    """`survival[i]`: the share that lasts longer than `times[i]`; both begin with 0 s and 1. `observed`: how many ended
    intervals it is made from."""

    times: tuple[float, ...]
    survival: tuple[float, ...]
    observed: int = LEAST_ENDED

    @classmethod
    def of(cls, lengths: Iterable[tuple[float, bool]]) -> Curve:
        """From (seconds, ended) pairs; of equal lengths, those that ended count first."""
        ordered = sorted(lengths, key=lambda one: (one[0], not one[1]))
        times, survival, share = [0.0], [1.0], 1.0
        for at, (seconds, ended) in enumerate(ordered):
            if ended:
                at_risk = len(ordered) - at
                share *= at_risk / (at_risk + 1)
                times.append(max(seconds, SHORTEST))
                survival.append(share)
        longest = ordered[-1][0] if ordered else 0.0
        if longest > times[-1]:
            times.append(longest)
            survival.append(share)
        return cls(*_thinned(times, survival), observed=sum(ended for _, ended in ordered))

    @cached_property
    def _falling(self) -> tuple[float, ...]:
        """`survival` in rising order, to search in."""
        return tuple(-one for one in self.survival)

    def lasting(self, seconds: float) -> float:
        """The share that lasts longer than this."""
        times, survival = self.times, self.survival
        at = bisect_right(times, seconds)
        if at == len(times):
            return survival[-1] * times[-1] / seconds if times[-1] > 0 else survival[-1]
        before, after = at - 1, at
        span = times[after] - times[before]
        return survival[before] + (survival[after] - survival[before]) * (seconds - times[before]) / span

    def length(self, share: float, *, lasted: float = 0.0, warp: Warp = AS_SEEN) -> float:
        """The length that `share` (0 to 1, not 0) of those outlast that have lasted so long already."""
        wanted = max(LEAST_SHARE, warp.of_curve(share * warp.true(self.lasting(lasted))))
        times, survival = self.times, self.survival
        if wanted < survival[-1]:
            return max(lasted, max(times[-1], SHORTEST) * survival[-1] / wanted)
        after = max(1, bisect_left(self._falling, -wanted))
        if after >= len(times):
            return max(lasted, times[-1])
        drop = survival[after - 1] - survival[after]
        part = (survival[after - 1] - wanted) / drop if drop > 0 else 1.0
        return max(lasted, times[after - 1] + part * (times[after] - times[after - 1]))


def _thinned(times: Sequence[float], survival: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At most so many points, the first and the last among them."""
    last = len(times) - 1
    if last < MOST_POINTS:
        return tuple(times), tuple(survival)
    kept = sorted({round(at * last / (MOST_POINTS - 1)) for at in range(MOST_POINTS)})
    return tuple(times[at] for at in kept), tuple(survival[at] for at in kept)


class History:
    """Past intervals by group; curves are made when first asked for."""

    def __init__(self, intervals: Iterable[Interval]) -> None:
        self._lengths: dict[Hashable, list[tuple[float, bool]]] = defaultdict(list)
        self._curves: dict[Hashable, Curve | None] = {}
        for one in intervals:
            for group in one.template.groups:
                self._lengths[group].append((one.seconds, one.ended))

    def curve(self, template: Template) -> Curve | None:
        """Of the narrowest group with enough ended intervals; None where there is none."""
        return next((found for group in template.groups if (found := self._of(group)) is not None), None)

    def length(self, template: Template) -> Length:
        """The curve of its like and its own limit."""
        return Length(self.curve(template), template.limit_s)

    def _of(self, group: Hashable) -> Curve | None:
        if group not in self._curves:
            lengths = self._lengths.get(group, [])
            enough = sum(ended for _, ended in lengths) >= LEAST_ENDED
            self._curves[group] = Curve.of(lengths) if enough else None
        return self._curves[group]


@dataclass(frozen=True)
class Length:
    """What is known of how long one run lasts: a curve of its like, a limit, both, or neither (it never ends)."""

    curve: Curve | None = None
    limit_s: float | None = None

    @property
    def known(self) -> bool:
        return self.curve is not None or self.limit_s is not None

    def left(self, share: float, lasted: float, warp: Warp = AS_SEEN) -> float | None:
        """Seconds that it still lasts in the case `share` (0 to 1, not 0); None: nobody can say.

        With a limit alone, every length up to it is as likely as another.
        """
        if self.curve is not None:
            whole = self.curve.length(share, lasted=lasted, warp=warp)
        elif self.limit_s is not None:
            whole = self.limit_s - share * max(0.0, self.limit_s - lasted)
        else:
            return None
        if self.limit_s is not None:
            whole = min(whole, self.limit_s)
        return max(SHORTEST, whole - lasted)


NEVER_ENDS = Length()
