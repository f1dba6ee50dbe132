"""A band is corrected by how past bands did: how far, on which side, and never wildly. Pure."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quotas.planning.correction import AS_PLAYED, LEAST_OUTCOMES, NARROWEST, PRIOR, WIDEST, Correction, Outcome
from quotas.planning.forecast import Estimate

NOW = 10_000.0
PLAYED = Estimate(NOW + 500, NOW + 1000, NOW + 1500, "history")
SIDES = st.lists(st.floats(min_value=0, max_value=1e6), max_size=80)


def outcome(started: float, *, away: float = 1000.0) -> Outcome:
    """A forecast at 0 with half-widths of half its distance."""
    return Outcome(0.0, away / 2, away, away * 1.5, started)


def width(estimate: Estimate) -> tuple[float, float]:
    assert estimate.p10 is not None
    assert estimate.p50 is not None
    assert estimate.p90 is not None
    return estimate.p50 - estimate.p10, estimate.p90 - estimate.p50


def test_a_few_outcomes_correct_nothing() -> None:
    few = [outcome(50_000.0)] * (LEAST_OUTCOMES - 1)
    assert Correction.of(few) == AS_PLAYED
    assert AS_PLAYED.applied(PLAYED, NOW) == PLAYED


def test_what_started_later_than_said_makes_the_late_side_wider() -> None:
    late = [outcome(1000.0 + 10 * n) for n in range(100)]  # nine of ten within 900 s, and not within 500
    before, after = width(Correction.of(late).applied(PLAYED, NOW))
    assert before < 500
    assert 700 < after <= 900


def test_what_started_where_it_was_said_makes_the_band_narrower() -> None:
    true = [outcome(1000.0 + n - 50) for n in range(100)]
    before, after = width(Correction.of(true).applied(PLAYED, NOW))
    assert before == after
    assert NARROWEST * 500 <= after < 400


def test_few_outcomes_do_not_make_a_band_wide_for_being_few() -> None:
    """Of thirty errors nine tenths lie between the twenty-seventh and the twenty-eighth, not beyond the latter."""
    ordered = [1 + n / 100 for n in range(30)]
    _, after = width(Correction.of(outcome(1000.0 + 500.0 * one) for one in ordered).applied(PLAYED, NOW))
    quantile = ordered[26] + 0.9 * (ordered[27] - ordered[26])
    whole = (30 * quantile + PRIOR) / (30 + PRIOR)
    assert after == pytest.approx(500 * (30 * quantile + PRIOR * whole) / (30 + PRIOR), rel=1e-6)


def test_the_corrected_band_holds_eight_of_ten() -> None:
    dice = Random(4)
    past = [outcome(dice.gauss(1000, 900)) for _ in range(400)]
    far = Correction.of(past)
    fresh = [dice.gauss(1000, 900) + NOW for _ in range(1000)]
    said = far.applied(Estimate(NOW + 500, NOW + 1000, NOW + 1500, "history"), NOW)
    assert said.p10 is not None
    assert said.p90 is not None
    early = sum(at < said.p10 for at in fresh)  # some of these lie before now: nothing starts then
    assert sum(at > said.p90 for at in fresh) == pytest.approx(100, abs=40)
    assert early >= 100
    assert said.p10 >= NOW


def test_far_forecasts_do_not_widen_near_ones() -> None:
    near = [outcome(100.0 + n % 20, away=100.0) for n in range(200)]
    far = [outcome(30_000.0, away=10_000.0)] * 200
    correction = Correction.of([*near, *far])
    _, soon = width(correction.applied(Estimate(NOW + 50, NOW + 100, NOW + 150, "history"), NOW))
    _, later = width(correction.applied(Estimate(NOW + 5000, NOW + 10_000, NOW + 15_000, "history"), NOW))
    assert soon < 80
    assert later > 3 * 5000


def test_what_cannot_be_said_stays_unsaid() -> None:
    unsaid = Estimate(None, None, None, "none", "too_far")
    assert Correction.of([outcome(9_000.0)] * 50).applied(unsaid, NOW) == unsaid


def test_old_outcomes_are_forgotten() -> None:
    old, new = [outcome(9_000.0)] * 2000, [outcome(1000.0)] * 1000
    assert Correction.of([*old, *new]) == Correction.of(new)


@given(SIDES, st.floats(min_value=0, max_value=1e5), st.floats(min_value=0, max_value=1e5))
def test_bands_stay_in_order_and_within_bounds(starts: list[float], low: float, high: float) -> None:
    played = Estimate(NOW + 1e5 - low, NOW + 1e5, NOW + 1e5 + high, "history")
    said = Correction.of(outcome(at) for at in starts).applied(played, NOW)
    before, after = width(said)
    assert said.p50 == played.p50
    assert before >= 0
    assert min(1.0, NARROWEST * high) - 1e-6 <= after <= max(WIDEST, WIDEST * high) + 1e-6
    assert said.p10 is not None
    assert said.p10 >= NOW
