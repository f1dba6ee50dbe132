"""Speed of the admission model, on one core: a cycle, a month replayed, a preview.

    python -m tests.bench.admission [cycle] [replay] [preview]

- cycle: one scheduling cycle over a cohort of 50 queues with 1,000 waiting workloads, every queue's head looked at.
- replay: 30 days, 100,000 workloads over 50 queues and 4 flavors, from submission to the end of each.
- preview: what would become of one more workload, against 1,000 that wait; the engine itself stays as it was.
"""

import gc
import heapq
import random
import statistics
import sys
from time import perf_counter

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
    for _ in range(30):
        fork = engine.fork(instant_release=True)
        fork.finish(running, 1e6)
        start = perf_counter()
        fork.cycle(1e6 + 2)
        times.append(1000 * (perf_counter() - start))
    print(f"cycle    1,000 waiting, {QUEUES} queues: p50 {statistics.median(times):.1f} ms, max {max(times):.1f} ms")


def bench_preview() -> None:
    """One more workload of each kind against 1,000 that wait."""
    engine, _ = crowded(1000)
    dice = random.Random(11)
    times = []
    for number in range(200):
        asked = workload(10_000_000 + number, 1e6, dice)
        start = perf_counter()
        fork = engine.fork()
        fork.submit(asked)
        fork.cycle(1e6)
        times.append(1000 * (perf_counter() - start))
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"preview  1,000 waiting: p50 {p50:.2f} ms, p95 {p95:.2f} ms (goal: p50 at most 5 ms)")


class Replay:
    """Plays a month: submissions, ends of what runs, and what the engine decides between them."""

    def __init__(self, engine: Engine, arrivals: list[WorkloadSpec], lasts: dict[str, float]) -> None:
        self.engine = engine
        self.arrivals = arrivals
        self.lasts = lasts
        self.ends: list[tuple[float, int, str]] = []
        self.life: dict[str, int] = {}
        self.admitted = self.evicted = self.waited = 0
        self.created = {spec.key: spec.created for spec in arrivals}

    def run(self) -> None:
        """Until everything has ended."""
        index, total = 0, len(self.arrivals)
        while index < total or self.ends:
            now = self._next(index)
            if index < total and self.arrivals[index].created == now:
                self.engine.submit(self.arrivals[index])
                index += 1
            while self.ends and self.ends[0][0] <= now:
                _, life, key = heapq.heappop(self.ends)
                if self.life[key] == life:
                    self.engine.finish(key, now)
            while decisions := self.engine.cycle(now):
                for decision in decisions:
                    self._note(decision, now)

    def _next(self, index: int) -> float:
        times = [] if index == len(self.arrivals) else [self.arrivals[index].created]
        if self.ends:
            times.append(self.ends[0][0])
        due = self.engine.next_due()
        if due is not None:
            times.append(due)
        return min(times)

    def _note(self, decision: Decision, now: float) -> None:
        if isinstance(decision, Admit):
            self.admitted += 1
            self.waited += now - self.created[decision.key] > 1
            life = self.life[decision.key] = self.life.get(decision.key, 0) + 1
            heapq.heappush(self.ends, (now + self.lasts[decision.key], life, decision.key))
        elif isinstance(decision, Evict):
            self.evicted += 1
            self.life[decision.key] += 1


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
    replay = Replay(cluster(7, RECLAIMING, explains=False), *month())
    gc.collect()
    start = perf_counter()
    replay.run()
    seconds = perf_counter() - start
    print(
        f"replay   {DAYS} days, {WORKLOADS:,} workloads, {QUEUES} queues, {len(FLAVORS)} flavors: {seconds:.1f} s"
        f" (goal: at most 10 s); {replay.admitted:,} admissions, {replay.waited:,} had waited,"
        f" {replay.evicted:,} evictions"
    )


BENCHES = {"cycle": bench_cycle, "replay": bench_replay, "preview": bench_preview}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHES:
        BENCHES[name]()
