"""How long work lasts: curves of what ran alike, and draws from them."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.planning.lengths import LEAST_ENDED, Curve, History, Interval, Length, Template, Warp

SECONDS = st.floats(min_value=1, max_value=1e6)
LENGTHS = st.lists(st.tuples(SECONDS, st.booleans()), min_size=1, max_size=200)
SHARES = st.floats(min_value=1e-3, max_value=1)
HERE = Template("data", "training", "job", "h100", "pytorch")


@given(LENGTHS, SHARES, SHARES)
def test_a_larger_share_outlasts_a_shorter_length(lengths: list[tuple[float, bool]], one: float, other: float) -> None:
    curve = Curve.of(lengths)
    low, high = sorted((one, other))
    assert curve.length(high) <= curve.length(low) * (1 + 1e-9)


@given(LENGTHS, SHARES, SECONDS)
def test_what_has_lasted_lasts_longer_than_it_has(
    lengths: list[tuple[float, bool]], share: float, lasted: float
) -> None:
    assert Curve.of(lengths).length(share, lasted=lasted) >= lasted


@given(LENGTHS, SECONDS, SECONDS)
def test_fewer_last_longer(lengths: list[tuple[float, bool]], one: float, other: float) -> None:
    curve = Curve.of(lengths)
    low, high = sorted((one, other))
    assert 0 < curve.lasting(high) <= curve.lasting(low) + 1e-9 <= 1 + 1e-9


@given(st.lists(SECONDS, min_size=5, max_size=60, unique=True))
def test_the_next_falls_into_any_gap_with_equal_chance(seconds: list[float]) -> None:
    """With n lengths seen, the k-th smallest is outlasted by n+1-k in n+1."""
    curve = Curve.of((one, True) for one in seconds)
    for place, one in enumerate(sorted(seconds), start=1):
        assert curve.lasting(one) == pytest.approx((len(seconds) + 1 - place) / (len(seconds) + 1), abs=1e-6)


def test_work_that_still_runs_makes_the_rest_look_longer() -> None:
    ended = [(float(one), True) for one in range(10, 60, 5)]
    alone, beside = Curve.of(ended), Curve.of([*ended, *[(100.0, False)] * 10])
    assert alone.length(0.5) < beside.length(0.5)


def test_beyond_everything_seen_it_lasts_as_long_again_in_half_of_the_cases() -> None:
    curve = Curve.of((float(one), True) for one in range(10, 60, 5))
    assert curve.length(0.5, lasted=1000.0) == pytest.approx(2000.0)


def intervals(template: Template, *seconds: float) -> list[Interval]:
    return [Interval(template, one, ended=True) for one in seconds]


def test_groups_widen_until_enough_has_ended() -> None:
    other_image = Template("data", "training", "job", "h100", "python")
    other_team = Template("vision", "training", "job", "h100", "pytorch")
    few = History([*intervals(HERE, 10, 10), *intervals(other_team, *[500] * LEAST_ENDED)])
    found = few.curve(HERE)
    assert found is not None
    assert found.length(0.2) > 100
    near = History([*intervals(HERE, 10, 10), *intervals(other_image, 20, 20, 20), *intervals(other_team, *[500] * 9)])
    found = near.curve(HERE)
    assert found is not None
    assert found.length(0.3) <= 20
    assert History(intervals(HERE, *[5] * (LEAST_ENDED - 1))).curve(HERE) is None
    assert few.curve(Template("data", "notebook")) is None


def test_a_limit_cuts_and_neither_says_nothing() -> None:
    curve = Curve.of((float(one), True) for one in range(100, 1100, 100))
    assert Length(curve, 50.0).left(0.1, 0.0) == 50.0
    assert Length(curve, 50.0).left(0.5, 60.0) == 1.0
    assert Length(limit_s=100.0).left(0.5, 40.0) == pytest.approx(30.0)
    assert Length().left(0.5, 40.0) is None


@given(st.integers(min_value=0, max_value=10_000), st.integers(1, 500), st.floats(0, 1), st.floats(0, 1))
def test_what_is_possible_keeps_the_order_and_comes_back(seed: int, observed: int, one: float, other: float) -> None:
    warp = Warp.drawn(Random(seed), observed)
    low, high = sorted((one, other))
    assert 0 <= warp.true(low) <= warp.true(high) <= 1
    assert 0 <= warp.of_curve(low) <= warp.of_curve(high) <= 1
    assert warp.true(warp.of_curve(one)) == pytest.approx(one, abs=1e-6)


def test_the_more_was_seen_the_surer_the_middle() -> None:
    dice = Random(3)

    def spread(observed: int) -> float:
        middles = [Warp.drawn(dice, observed).quarters[1] for _ in range(400)]
        assert sum(middles) / 400 == pytest.approx(0.5, abs=0.05)
        return max(middles) - min(middles)

    assert spread(5) > 2 * spread(200)


def test_the_drawn_curve_is_on_average_the_one_that_was_seen() -> None:
    dice, curve = Random(9), Curve.of((float(at), True) for at in range(100, 200))
    drawn = [curve.length(1 - dice.random(), warp=Warp.drawn(dice, 100)) for _ in range(4000)]
    assert sum(length > 150 for length in drawn) / 4000 == pytest.approx(curve.lasting(150), abs=0.03)


def test_what_has_lasted_lasts_longer_in_every_possible_course() -> None:
    dice, curve = Random(2), Curve.of((float(at), True) for at in range(100, 200))
    assert all(curve.length(1 - dice.random(), lasted=170.0, warp=Warp.drawn(dice, 5)) >= 170 for _ in range(500))
