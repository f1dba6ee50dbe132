"""The figure that says how true forecasts come: judged by what was known then, and by starts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quotas.planning.forecast import Estimate
from tests.bench import calibration
from tests.bench.calibration import DAY, Tally, Told

HOUR = 3600.0
PLAYED = Estimate(1 * HOUR, 2 * HOUR, 3 * HOUR, "history")


def told(made: float, *, waited: float | None) -> Told:
    ends = {name: made + away * HOUR for name, away in (("p10", 1), ("p50", 2), ("p90", 3))}
    return Told(made, replace(PLAYED, **ends), None if waited is None else made + waited)


def test_nothing_is_known_of_a_wait_before_it_ends_or_its_band_is_over() -> None:
    one = told(0.0, waited=5 * HOUR)
    assert one.known_at(2 * HOUR) is None
    late, started = one.known_at(4 * HOUR), one.known_at(6 * HOUR)
    assert late is not None
    assert started is not None
    assert (late.started, started.started) == (4 * HOUR, 5 * HOUR)


def test_what_was_never_said_or_never_started_is_not_judged() -> None:
    from_day = calibration.WARM_UP_DAYS * DAY
    unsaid = Told(from_day, Estimate(None, None, None, "none", "too_far"), from_day + HOUR)
    found = Tally([told(from_day, waited=2 * HOUR), told(from_day, waited=None), unsaid, told(HOUR, waited=HOUR)])
    (pair,) = found.pairs(corrects=False)
    assert pair.within
    assert found.unsaid == 1


def test_late_starts_of_the_past_widen_what_is_said_and_never_those_of_the_future() -> None:
    from_day = calibration.WARM_UP_DAYS * DAY
    past = [told(DAY + 60 * n, waited=5 * HOUR) for n in range(60)]
    here = told(from_day, waited=4.5 * HOUR)
    future = [told(from_day + DAY + 60 * n, waited=5 * HOUR) for n in range(60)]
    (as_played, *_), (corrected, *_) = (Tally([*past, here]).pairs(corrects=way) for way in (False, True))
    assert not as_played.within
    assert corrected.within
    (unmoved, *_) = Tally([here, *future]).pairs(corrects=True)
    assert unmoved.said == here.played


def test_a_small_world_is_played_and_judged_twice_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("TOLD_FROM_DAY", 0.4), ("WARM_UP_DAYS", 0.5), ("JUDGED_DAYS", 0.5), ("SAMPLES", 9)):
        monkeypatch.setattr(calibration, name, value)
    one, other = calibration.tally(2), calibration.tally(2)
    assert one.told == other.told
    assert one.pairs(corrects=True)
    assert "judged, within p10-p90" in calibration.line(one.pairs(corrects=True))
    assert calibration.line([]) == "nothing judged"
