"""Speed of the admission model, on one core: a cycle, a month replayed, a preview. Figures are processor time.

    python -m tests.bench.admission [cycle] [replay] [preview]

- cycle: one scheduling cycle over a cohort of 50 queues with 1,000 waiting workloads, every queue's head looked at.
- replay: 30 days, 100,000 workloads over 50 queues and 4 flavors, from submission to the end of each.
- preview: what would become of one more workload, against 1,000 that wait; the engine itself stays as it was.
"""

import gc
import math
import random
import statistics
import sys
from time import process_time

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    Decision,
    Engine,
    Evict,
    FlavorQuota,
    PodSet,
    Preemption,
    PreemptionPolicy,
    QuotaCell,
    Replay,
    ResourceGroup,
    WorkloadSpec,
)

QUEUES = 50
FLAVORS = ("h200", "h100", "a100", "l40s")
GPU = "nvidia.com/gpu"
DAYS = 30
WORKLOADS = 100_000
SIZES = (1, 1, 1, 2, 2, 4, 8)
PRIORITIES = (-10, 0, 0, 0, 100)
# A cycle has no promise of its own; it should leave room for others in a preview.
GOAL_CYCLE_MS, GOAL_PREVIEW_MS, GOAL_REPLAY_S = 5.0, 5.0, 10.0


def cluster(nominal: int, preemption: Preemption, *, explains: bool) -> Engine:
    """50 queues of one cohort that lend to each other, with four flavors each."""
    engine = Engine(instant_release=True, explains=explains)
    group = ResourceGroup((GPU,), tuple(FlavorQuota(name, {GPU: QuotaCell(nominal)}) for name in FLAVORS))
    for number in range(QUEUES):
        spec = ClusterQueueSpec(f"team-{number}", "lab", preemption=preemption, resource_groups=(group,))
        engine.upsert_queue(spec, 0.0)
    engine.settle(0.0)
    return engine


def workload(number: int, created: float, dice: random.Random) -> WorkloadSpec:
    """A workload of some team, a size and a priority."""
    podset = PodSet("main", 1, {GPU: dice.choice(SIZES)})
    return WorkloadSpec(f"w{number}", f"team-{dice.randrange(QUEUES)}", dice.choice(PRIORITIES), created, (podset,))


RECLAIMING = Preemption(
    within_queue=PreemptionPolicy.LOWER_PRIORITY, reclaim_within_cohort=PreemptionPolicy.LOWER_PRIORITY
)


def crowded(waiting: int) -> tuple[Engine, str]:
    """A cluster in full use in which so many workloads wait, and one that runs."""
    dice = random.Random(7)
    engine = cluster(8, RECLAIMING, explains=False)
    number, running = 0, ""
    while sum(len(engine.pending_order(f"team-{queue}")) for queue in range(QUEUES)) < waiting:
        engine.submit(workload(number, float(number), dice))
        for _, decision in engine.settle(float(number)).decisions:
            if isinstance(decision, Admit):
                running = decision.key
        number += 1
    return engine, running


def bench_cycle() -> None:
    """A cycle in which every queue's head is looked at after something has ended."""
    engine, running = crowded(1000)
    times = []
    for _ in range(100):
        fork = engine.fork(instant_release=True)
        fork.finish(running, 1e6)
        start = process_time()
        fork.cycle(1e6 + 2)
        times.append(1000 * (process_time() - start))
    show(f"cycle    1,000 waiting, {QUEUES} queues, p50", "ms", statistics.median(times), GOAL_CYCLE_MS, worst(times))


def bench_preview() -> None:
    """One more workload of each kind against 1,000 that wait."""
    engine, _ = crowded(1000)
    dice = random.Random(11)
    times = []
    for number in range(200):
        asked = workload(10_000_000 + number, 1e6, dice)
        start = process_time()
        fork = engine.fork()
        fork.submit(asked)
        fork.cycle(1e6)
        times.append(1000 * (process_time() - start))
    title = f"preview  1,000 waiting, {QUEUES} queues, p50"
    show(title, "ms", statistics.median(times), GOAL_PREVIEW_MS, worst(times))


def worst(times: list[float]) -> str:
    """The slow end of the figures."""
    return f"   p95 {statistics.quantiles(times, n=20)[-1]:.2f} ms"


class Tally:
    """Counts what a replay decides; it has never seen enough."""

    def __init__(self, arrivals: list[WorkloadSpec]) -> None:
        self.created = {spec.key: spec.created for spec in arrivals}
        self.admitted = self.evicted = self.waited = 0

    def __call__(self, at: float, decision: Decision) -> bool:
        if isinstance(decision, Admit):
            self.admitted += 1
            self.waited += at - self.created[decision.key] > 1
        elif isinstance(decision, Evict):
            self.evicted += 1
        return False


def month() -> tuple[list[WorkloadSpec], dict[str, float]]:
    """What is asked for in 30 days and how long each lasts: about 85 % of the cluster, more by day than by night."""
    dice = random.Random(3)
    at, arrivals, lasts = 0.0, [], {}
    rate = WORKLOADS / (DAYS * 86_400)
    for number in range(WORKLOADS):
        by_day = 8 <= (at / 3600) % 24 < 20
        at += dice.expovariate(rate * (4 / 3 if by_day else 2 / 3))
        spec = workload(number, at, dice)
        arrivals.append(spec)
        lasts[spec.key] = dice.expovariate(1 / 11_400)
    return arrivals, lasts


def bench_replay() -> None:
    """The month, from the first submission to the end of the last workload."""
    arrivals, lasts = month()
    tally = Tally(arrivals)
    replay = Replay(cluster(7, RECLAIMING, explains=False), lasts, 0.0, arrivals)
    gc.collect()
    gc.freeze()  # what the month consists of is no garbage, and need not be looked through for it
    start = process_time()
    replay.run(math.inf, tally)
    seconds = process_time() - start
    show(f"replay   {DAYS} days, {WORKLOADS:,} workloads, {len(FLAVORS)} flavors", "s", seconds, GOAL_REPLAY_S)
    print(f"         {tally.admitted:,} admissions, {tally.waited:,} had waited, {tally.evicted:,} evictions")


def show(title: str, unit: str, figure: float, goal: float, more: str = "") -> None:
    """A figure beside its goal; a ratio of at most 1 is within it."""
    print(f"{title:<58} {figure:6.2f} {unit:<3} goal {goal:4.0f} {unit:<3} ratio {figure / goal:5.2f}{more}")


BENCHES = {"cycle": bench_cycle, "replay": bench_replay, "preview": bench_preview}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHES:
        BENCHES[name]()
