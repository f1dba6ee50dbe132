"""Playing an engine forward: when the watched are admitted, if everything lasts as long as it is said to."""

import random

import pytest

from portal.admission import (
    Admit,
    Decision,
    Engine,
    Evict,
    PodSet,
    PreemptionPolicy,
    Replay,
    WorkloadSpec,
    replay_forward,
)
from tests.admission.building import GPU, Cluster, gpus, queue

LOWER = PreemptionPolicy.LOWER_PRIORITY


class Story:
    """A watcher that keeps everything it sees, and never has enough."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    def __call__(self, at: float, decision: Decision) -> bool:
        self.told.append((at, f"{type(decision).__name__} {decision.key}"))
        return False


def crowded() -> Cluster:
    """Four GPUs: `old` holds three, `young` one, and `first` (two), `second` (four) wait."""
    cluster = Cluster(queue("q", *gpus(h200=4), within=LOWER))
    cluster.submit("old", "q", 3)
    cluster.submit("young", "q", 1)
    cluster.submit("first", "q", 2)
    cluster.submit("second", "q", 4)
    return cluster


def spec(key: str, amount: int, created: float, *, priority: int = 0) -> WorkloadSpec:
    return WorkloadSpec(key, "q", priority, created, (PodSet("main", 1, {GPU: amount}),))


def test_each_starts_when_enough_before_it_has_ended() -> None:
    cluster = crowded()
    lasts = {"old": 100.0, "young": 200.0, "first": 50.0, "second": 10.0}
    found = replay_forward(cluster.engine, lasts, 1000.0, 5000.0, frozenset({"first", "second"}))
    # What was parked comes back one second after the end that made room: Kueue's batch.
    assert found == {"first": 1101.0, "second": 1201.0}


def test_what_runs_without_a_duration_never_makes_room() -> None:
    cluster = crowded()
    found = replay_forward(cluster.engine, {"young": 10.0, "first": 5.0}, 1000.0, 1e9, frozenset({"first", "second"}))
    assert found == {}


def test_a_forecast_ends_at_its_horizon() -> None:
    cluster = crowded()
    lasts = {"old": 100.0, "young": 200.0, "first": 50.0}
    assert replay_forward(cluster.engine, lasts, 1000.0, 1150.0, frozenset({"first", "second"})) == {"first": 1101.0}


def test_the_engine_itself_stays_as_it_was() -> None:
    cluster = crowded()
    before = cluster.engine.pending_order("q"), cluster.engine.usage("q"), cluster.engine.holding()
    replay_forward(cluster.engine, {"old": 1.0, "young": 1.0}, 1000.0, 5000.0, frozenset({"first"}))
    assert (cluster.engine.pending_order("q"), cluster.engine.usage("q"), cluster.engine.holding()) == before


def test_later_arrivals_of_higher_priority_go_before() -> None:
    cluster = crowded()
    lasts = {"old": 100.0, "young": 200.0, "first": 50.0, "urgent": 500.0}
    urgent = spec("urgent", 3, 1099.0, priority=100)
    found = replay_forward(cluster.engine, lasts, 1000.0, 5000.0, frozenset({"first"}), [urgent])
    # `old` is evicted one second before its end, waits until `urgent` has ended, and then starts over before `first`.
    assert found == {"first": 1701.0}


def test_the_evicted_start_over_with_their_whole_duration() -> None:
    engine = Engine(instant_release=True)
    engine.upsert_queue(queue("q", *gpus(h200=2), within=LOWER), 0.0)
    story = Story()
    arrivals = [spec("low", 2, 0.0), spec("high", 2, 60.0, priority=100)]
    Replay(engine, {"low": 100.0, "high": 30.0}, 0.0, arrivals).run(1e6, story)
    assert [told for told in story.told if told[1].startswith(("Admit", "Evict"))] == [
        (0.0, "Admit low"),
        (60.0, "Evict low"),
        (60.0, "Admit high"),
        (91.0, "Admit low"),
    ]
    assert engine.holding() == []


@pytest.mark.parametrize("stop", [500.0, 1100.5, 1250.0])
def test_a_replay_may_be_interrupted(stop: float) -> None:
    lasts = {"old": 100.0, "young": 200.0, "first": 50.0, "second": 10.0}
    stories = []
    for pauses in ([], [stop]):
        story = Story()
        replay = Replay(crowded().engine.fork(instant_release=True), lasts, 1000.0)
        for until in [*pauses, 1e6]:
            replay.run(until, story)
        stories.append(story.told)
    assert stories[0] == stories[1]


def test_a_replay_decides_what_single_steps_decide() -> None:
    dice = random.Random(2)
    at, arrivals, lasts = 0.0, [], {}
    for number in range(120):
        at += dice.expovariate(1 / 20)
        arrivals.append(spec(f"w{number:03}", dice.choice((1, 2, 4)), at, priority=dice.choice((0, 0, 100))))
        lasts[arrivals[-1].key] = dice.expovariate(1 / 100)
    story = Story()
    quiet = Engine(instant_release=True, explains=False)
    quiet.upsert_queue(queue("q", *gpus(h200=4, a100=3), within=LOWER), 0.0)
    Replay(quiet, lasts, 0.0, arrivals).run(1e9, story)

    told = Engine(instant_release=True)
    told.upsert_queue(queue("q", *gpus(h200=4, a100=3), within=LOWER), 0.0)
    seen: list[tuple[float, str]] = []
    ends: dict[str, float] = {}
    waiting = list(arrivals)
    while waiting or ends or told.next_due() is not None:
        times = [one.created for one in waiting[:1]] + list(ends.values())
        due = told.next_due()
        now = min(times if due is None else [*times, due])
        while waiting and waiting[0].created <= now:
            told.submit(waiting.pop(0))
        for key in [key for key, end in ends.items() if end <= now]:
            del ends[key]
            told.finish(key, now)
        while decisions := told.cycle(now):
            for decision in decisions:
                seen.append((now, f"{type(decision).__name__} {decision.key}"))
                if isinstance(decision, Admit):
                    ends[decision.key] = now + lasts[decision.key]
                elif isinstance(decision, Evict):
                    del ends[decision.key]
    assert len(story.told) > 120
    assert story.told == [told for told in seen if not told[1].startswith("Pending")]
