"""Forecasts from a queue played on: quantiles, what nobody can know, who comes in between. Pure."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.admission import (
    ClusterQueueSpec,
    Decision,
    Engine,
    FlavorQuota,
    PodSet,
    QuotaCell,
    ResourceGroup,
    WorkloadSpec,
)
from quotas.planning.arrivals import Arrival, Past
from quotas.planning.forecast import (
    LEAST_SAMPLES,
    MOST_DECISIONS,
    MOST_SAMPLES,
    Scene,
    estimates,
    judged,
    played,
    quantile,
)
from quotas.planning.lengths import Curve, Length

GPU = "nvidia.com/gpu"
HOUR = Length(Curve.of((3600.0 + 60 * one, True) for one in range(-20, 21)))
STARTS = st.lists(st.floats(min_value=0, max_value=1e6) | st.just(inf), min_size=1, max_size=100)


def spec(key: str, created: float, priority: int = 0) -> WorkloadSpec:
    return WorkloadSpec(key, "team", priority, created, (PodSet("main", 1, {GPU: 1}),))


def scene(waiting: int, **lengths: Length) -> Scene:
    """One card, held by `runs` since 10 minutes; so many wait, `w0` first."""
    engine = Engine(instant_release=True, explains=False)
    group = ResourceGroup((GPU,), (FlavorQuota("h100", {GPU: QuotaCell(1)}),))
    engine.upsert_queue(ClusterQueueSpec("team", resource_groups=(group,)), 0.0)
    for key, created in (("runs", 0.0), *((f"w{number}", 1.0 + number) for number in range(waiting))):
        engine.submit(spec(key, created))
        engine.settle(created)
    keys = [f"w{number}" for number in range(waiting)]
    return Scene(engine, 600.0, {"runs": 600.0}, keys, dict.fromkeys(("runs", *keys), HOUR) | lengths)


@given(STARTS, st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_quantiles_are_in_order_and_within_what_was_seen(starts: list[float], one: float, other: float) -> None:
    ordered = sorted(starts)
    low, high = sorted((one, other))
    assert ordered[0] <= quantile(ordered, low) <= quantile(ordered, high) + 1e-6
    assert quantile(ordered, high) <= ordered[-1] + 1e-6


def test_the_next_of_few_draws_is_outside_of_their_tenths_as_often_as_meant() -> None:
    dice = Random(6)
    outside = 0
    for _ in range(3000):
        ordered = sorted(dice.random() for _ in range(20))
        outside += not quantile(ordered, 0.1) <= dice.random() <= quantile(ordered, 0.9)
    assert outside / 3000 == pytest.approx(0.2, abs=0.02)


def test_unknown_lengths_are_shared_by_those_of_one_kind() -> None:
    """Ten in a row of whom five ended before: together long or together short, so the last is less sure than ten draws
    that know nothing of each other would make it."""
    few = Length(Curve.of((float(at), True) for at in (3000, 3300, 3600, 3900, 4200)))
    sure = Length(Curve(few.curve.times, few.curve.survival, observed=10_000)) if few.curve else few
    keys = ("runs", *(f"w{number}" for number in range(10)))
    shared = estimates(scene(10, **dict.fromkeys(keys, few)), frozenset({"w9"}), samples=200)["w9"]
    apart = estimates(scene(10, **dict.fromkeys(keys, sure)), frozenset({"w9"}), samples=200)["w9"]
    assert shared.p10 is not None
    assert apart.p10 is not None
    assert shared.p90 is not None
    assert apart.p90 is not None
    assert shared.p90 - shared.p10 > 1.15 * (apart.p90 - apart.p10)


@given(STARTS)
def test_three_tenths_or_a_reason(starts: list[float]) -> None:
    found = judged(starts, "too_far", "history")
    if found.p50 is None:
        assert (found.p10, found.p90) == (None, None)
        assert found.why
    else:
        assert found.p10 is not None
        assert found.p90 is not None
        assert found.p10 <= found.p50 <= found.p90 < inf


def test_the_first_starts_when_what_runs_ends_and_the_next_after_it() -> None:
    found = estimates(scene(2), frozenset({"w0", "w1"}), samples=60)
    first, second = found["w0"], found["w1"]
    assert first.p50 == pytest.approx(3600, abs=120)
    assert second.p50 == pytest.approx(7200, abs=240)
    assert first.basis == "history"
    assert first.p10 is not None
    assert second.p90 is not None
    assert first.p10 < 3600 < second.p90


def test_equal_inputs_give_equal_answers() -> None:
    assert estimates(scene(3), frozenset({"w2"}), samples=20) == estimates(scene(3), frozenset({"w2"}), samples=20)


def test_the_engine_stays_as_it_was() -> None:
    at = scene(2)
    estimates(at, frozenset({"w1"}), samples=5)
    assert at.engine.pending_order("team") == ["w0", "w1"]
    assert at.engine.holding() == ["runs"]


def test_what_nobody_knows_is_not_guessed() -> None:
    found = estimates(scene(1, runs=Length()), frozenset({"w0"}), samples=20)["w0"]
    assert (found.p50, found.basis, found.why) == (None, "none", "lengths_unknown")


def test_a_limit_alone_says_by_when() -> None:
    found = estimates(scene(1, runs=Length(limit_s=1200.0)), frozenset({"w0"}), samples=40)["w0"]
    assert found.basis == "declared"
    assert found.p90 is not None
    assert 600 < found.p90 <= 1200 + 2


def test_who_may_come_with_more_right_makes_it_later() -> None:
    alone = scene(1)
    moments = [float(at) for at in range(-172_800, 600, 1200)]
    often = [Arrival(at, spec(f"p{at}", at, priority=100), HOUR) for at in moments]
    busy = replace(alone, past=Past(-86_400.0 * 2, often))
    quiet = estimates(alone, frozenset({"w0"}), samples=40)["w0"]
    found = estimates(busy, frozenset({"w0"}), samples=40)["w0"]
    assert quiet.p90 is not None
    assert found.p90 is not None
    assert found.p90 > quiet.p90 + 1800


def test_what_came_comes_again_in_order_with_keys_of_its_own() -> None:
    past = Past(0.0, [Arrival(float(at), spec("old", float(at))) for at in range(0, 1000, 50)])
    again = list(past.again(1000.0, Random(1)))
    assert len(again) > 100
    assert [one.at for one in again] == sorted(one.at for one in again)
    assert len({one.spec.key for one in again}) == len(again)
    assert all(one.at >= 1000.0 and one.spec.created == one.at for one in again)


def test_too_little_past_draws_nobody() -> None:
    assert list(Past(0.0, [Arrival(1.0, spec("old", 1.0))]).again(1000.0, Random(1))) == []


def test_whoever_is_too_far_behind_is_not_foreseen_and_those_before_are() -> None:
    """A long line costs no more than so many decisions: who is not in by then is told that many wait before."""
    waiting = 400
    watched = frozenset(f"w{number}" for number in range(waiting))
    found = estimates(scene(waiting), watched, samples=60)
    near, far = found["w9"], found[f"w{waiting - 1}"]
    assert near.p50 is not None
    assert near.why == ""
    assert (far.p50, far.why) == (None, "far_behind")
    whole = estimates(scene(10), frozenset({"w9"}), samples=LEAST_SAMPLES)["w9"]
    assert whole.p50 == pytest.approx(near.p50, rel=0.2)


def test_the_more_it_costs_the_fewer_samples_are_played() -> None:
    few, _ = played(scene(5), frozenset({"w4"}), samples=MOST_SAMPLES)
    some, _ = played(scene(100), frozenset({"w99"}), samples=MOST_SAMPLES)
    many, cut = played(scene(400), frozenset({"w399"}), samples=MOST_SAMPLES)
    assert len(few["w4"]) == MOST_SAMPLES
    assert LEAST_SAMPLES < len(some["w99"]) < MOST_SAMPLES
    assert len(many["w399"]) < len(some["w99"])
    assert cut


def test_a_forecast_makes_a_bounded_number_of_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    cycle = Engine.cycle

    def counting(engine: Engine, now: float) -> list[Decision]:
        nonlocal made
        found = cycle(engine, now)
        made += len(found)
        return found

    asked, watched = scene(300), frozenset(f"w{number}" for number in range(300))
    monkeypatch.setattr(Engine, "cycle", counting)
    estimates(asked, watched, samples=MOST_SAMPLES)
    assert made <= MOST_DECISIONS * 1.1
