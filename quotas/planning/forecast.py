"""When those who wait will likely start: the queue is played on many times, each time with other lengths. Pure.

Equal inputs give equal answers: the draws come from a generator that is seeded with what is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from random import Random
from typing import Literal

from portal.admission import Admit, Decision, Engine, Replay
from quotas.planning.arrivals import AHEAD_S, MOST_ARRIVALS, NOBODY, Past
from quotas.planning.lengths import AS_SEEN, NEVER_ENDS, Length, Warp

HORIZON_S = 14 * 86_400.0
# The smallest and the largest of nine are their tenths: fewer have none.
MOST_SAMPLES, LEAST_SAMPLES = 60, 9
# What one forecast costs is the decisions that are made in it: where they are many, fewer samples are played, and each
# only so far that the fewest samples keep to it. Who is not in by then is too far behind to be foreseen.
MOST_DECISIONS = 2_400
FIRST_REACH_S = 1800.0
LONG_LINE = 60
TENTHS = (0.1, 0.5, 0.9)
Why = Literal["", "lengths_unknown", "too_far", "far_behind", "uncertain", "blocked"]
Basis = Literal["history", "declared", "none"]


@dataclass(frozen=True)
class Estimate:
    """Seconds on the engine's clock. All None: it cannot be said, because of `why`."""

    p10: float | None
    p50: float | None
    p90: float | None
    basis: Basis
    why: Why = ""


@dataclass(frozen=True)
class Scene:
    """An engine at `now`, how long each of its workloads has held quota, and what is known of how long each lasts."""

    engine: Engine
    now: float
    lasted: Mapping[str, float]  # those that hold quota
    waiting: Collection[str]
    lengths: Mapping[str, Length]
    past: Past = NOBODY  # who came before, as a sample of who may come


def estimates(scene: Scene, watched: frozenset[str], *, samples: int = MOST_SAMPLES) -> dict[str, Estimate]:
    """For each watched key, when it is admitted first, from so many samples where their cost allows."""
    starts, cut = played(scene, watched, samples=samples)
    basis, why_not = _basis(scene), "far_behind" if cut else _why_not(scene)
    return {key: judged(found, why_not, basis) for key, found in starts.items()}


def played(scene: Scene, watched: frozenset[str], *, samples: int) -> tuple[dict[str, list[float]], bool]:
    """For each watched key, its start in every sample; infinite where it did not start within the horizon, nor within
    the effort. Whether any sample was cut for its effort."""
    keys = sorted({*scene.lasted, *scene.waiting})
    seed = f"{scene.now}|{samples}|{'|'.join(keys)}|{'|'.join(sorted(watched))}"
    rng = Random(seed)  # noqa: S311 no secret
    shares = {key: _spread(rng, samples) for key in keys}
    starts: dict[str, list[float]] = {key: [] for key in watched}
    # A long line is played far ahead in any case.
    reach = FIRST_REACH_S if len(scene.waiting) < LONG_LINE else AHEAD_S
    spent, cut = 0, False
    for sample in range(samples):
        if sample >= LEAST_SAMPLES and spent >= MOST_DECISIONS:
            break
        mine = {key: shares[key][sample] for key in keys}
        while True:
            seen, came = _sample(scene, watched, mine, Random(f"{seed}|{sample}"), reach)  # noqa: S311 no secret
            found, spent = seen.admitted, spent + seen.decisions
            last = max((found.get(key, inf) for key in watched), default=0.0)
            enough = last <= scene.now + reach or seen.cut or came == MOST_ARRIVALS
            if enough or reach >= AHEAD_S or not scene.past.arrivals:
                break  # `reach` is kept for the next sample, which will look as far
            # Somebody waits longer than was looked ahead: more may come in between.
            reach = min(AHEAD_S, 4 * reach)
        cut = cut or seen.cut
        for key in watched:
            starts[key].append(found.get(key, inf))
    return starts, cut


class _Seen:
    """What one course of things shows: when each watched key is admitted first, until all are, or until so many
    decisions were made. `cut`: it was the latter."""

    def __init__(self, watched: frozenset[str]) -> None:
        self.admitted: dict[str, float] = {}
        self.decisions, self.cut = 0, False
        self._missing = set(watched)

    def __call__(self, at: float, decision: Decision) -> bool:
        """Whether it is enough."""
        if isinstance(decision, Admit) and decision.key in self._missing:
            self._missing.discard(decision.key)
            self.admitted[decision.key] = at
        self.decisions += 1
        self.cut = bool(self._missing) and self.decisions >= MOST_DECISIONS // LEAST_SAMPLES
        return self.cut or not self._missing


def _sample(
    scene: Scene, watched: frozenset[str], shares: Mapping[str, float], rng: Random, reach: float
) -> tuple[_Seen, int]:
    """What one course of things shows, and how many come within `reach` seconds in it."""
    coming = list(scene.past.again(scene.now, rng, ahead=reach))
    lasting = _Lasting(scene, shares, {one.spec.key: one.length for one in coming}, rng)
    arrivals = [one.spec for one in coming]
    seen = _Seen(watched)
    if watched:
        engine = scene.engine.fork(explains=False, instant_release=True)
        Replay(engine, lasting, scene.now, arrivals).run(scene.now + HORIZON_S, seen)
    return seen, len(coming)


class _Lasting(dict[str, float]):
    """Seconds by key, drawn when first asked for: most of who comes later is never admitted before all is seen."""

    def __init__(self, scene: Scene, shares: Mapping[str, float], coming: Mapping[str, Length], rng: Random) -> None:
        super().__init__()
        self._scene, self._shares, self._coming, self._rng = scene, shares, coming, rng
        self._warps: dict[int, Warp] = {}  # by the identity of the curve
        for key in scene.lasted:
            length = scene.lengths.get(key, NEVER_ENDS)
            left = length.left(shares[key], scene.lasted[key], self._warp(length))
            if left is not None:
                self[key] = left

    def get(self, key: str, default: float | None = None) -> float | None:  # type: ignore[override]
        """None for what never ends."""
        found = super().get(key)
        if found is None and key not in self._scene.lasted:
            share = self._shares.get(key) or 1 - self._rng.random()
            known = self._coming.get(key) or self._scene.lengths.get(key, NEVER_ENDS)
            found = known.left(share, 0.0, self._warp(known))
            if found is not None:
                self[key] = found
        return default if found is None else found

    def _warp(self, length: Length) -> Warp:
        """The same for all of a curve, in this course of things."""
        curve = length.curve
        if curve is None:
            return AS_SEEN
        if id(curve) not in self._warps:
            self._warps[id(curve)] = Warp.drawn(self._rng, curve.observed)
        return self._warps[id(curve)]


def _spread(rng: Random, samples: int) -> list[float]:
    """One number from each of so many equal parts of (0, 1], in random order: less noise than free draws."""
    parts = list(range(samples))
    rng.shuffle(parts)
    return [(part + 1 - rng.random()) / samples for part in parts]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which the next draw lies with this chance, between neighbours in proportion; infinite where one
    of them is.

    Of n draws the k-th is expected to have k / (n + 1) of all below it (Weibull's plotting position): with the usual
    (k - 1) / (n - 1) the band between two tenths of few draws is too narrow.
    """
    at = min(max(share * (len(ordered) + 1) - 1, 0.0), len(ordered) - 1.0)
    below, above = ordered[floor(at)], ordered[ceil(at)]
    if below == above or above == inf:
        return above
    return below + (above - below) * (at - floor(at))


def judged(starts: Sequence[float], why_not: Why, basis: Basis) -> Estimate:
    """Three quantiles, or the reason why there are none."""
    p10, p50, p90 = (quantile(sorted(starts), share) for share in TENTHS)
    if p50 == inf:
        return Estimate(None, None, None, "none", why_not)
    if p90 == inf:
        return Estimate(None, None, None, "none", "uncertain")
    return Estimate(p10, p50, p90, basis)


def _why_not(scene: Scene) -> Why:
    unknown = any(not scene.lengths.get(key, NEVER_ENDS).known for key in (*scene.lasted, *scene.waiting))
    return "lengths_unknown" if unknown else "too_far"


def _basis(scene: Scene) -> Basis:
    known = [scene.lengths.get(key, NEVER_ENDS) for key in scene.lasted]
    return "history" if any(one.curve is not None for one in known) else "declared"
