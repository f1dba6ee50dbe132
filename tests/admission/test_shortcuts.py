"""An engine that explains nothing takes shortcuts; over long contested histories it must decide exactly the same."""

import heapq
import random
from dataclasses import dataclass, field

import pytest

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    CohortSpec,
    Decision,
    Engine,
    Evict,
    FairSharing,
    FlavorQuota,
    Fungibility,
    FungibilityPolicy,
    Pending,
    PodSet,
    Preemption,
    PreemptionPolicy,
    QueueingStrategy,
    QuotaCell,
    ResourceGroup,
    WorkloadSpec,
)
from tests.admission.building import CPU, GPU

LOWER, ANY = PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY
NEWER = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
NEXT = FungibilityPolicy.TRY_NEXT_FLAVOR
TEAMS, WORKLOADS = 8, 60

PREEMPTIONS = {
    "never": Preemption(),
    "reclaim-any": Preemption(LOWER, ANY),
    "reclaim-lower": Preemption(LOWER, LOWER),
    "newer-equal": Preemption(NEWER, LOWER),
    "while-borrowing": Preemption(LOWER, LOWER, borrow_within_cohort=True, max_priority_threshold=0),
}


@dataclass(frozen=True)
class Shape:
    """What the cluster and its workloads look like."""

    cell: QuotaCell = field(default_factory=lambda: QuotaCell(3))
    tree: bool = False
    strict: bool = False
    fungibility: Fungibility = field(default_factory=Fungibility)
    cpu: bool = False
    partial: bool = False
    pinned: bool = False


SHAPES = {
    "flat": Shape(),
    "limits": Shape(cell=QuotaCell(3, borrowing_limit=4, lending_limit=2)),
    "tree": Shape(tree=True),
    "strict": Shape(strict=True),
    "fungible": Shape(fungibility=Fungibility(NEXT, NEXT)),
    "two-groups": Shape(cpu=True),
    "partial": Shape(partial=True),
    "pinned": Shape(pinned=True),
}


def engine(preemption: Preemption, shape: Shape, fair: FairSharing | None, *, explains: bool) -> Engine:
    """Eight teams with three flavors each."""
    made = Engine(fair, instant_release=True, explains=explains)
    flavors = tuple(FlavorQuota(name, {GPU: shape.cell}) for name in ("h200", "h100", "a100"))
    groups = [ResourceGroup((GPU,), flavors)]
    if shape.cpu:
        groups.append(ResourceGroup((CPU,), (FlavorQuota("pool", {CPU: QuotaCell(20)}),)))
    if shape.tree:
        made.upsert_cohort(CohortSpec("lab0", "root"), 0.0)
        made.upsert_cohort(CohortSpec("lab1", "root"), 0.0)
    for number in range(TEAMS):
        cohort = f"lab{number % 2}" if shape.tree else "lab"
        strict = shape.strict and number % 3 == 0
        strategy = QueueingStrategy.STRICT_FIFO if strict else QueueingStrategy.BEST_EFFORT_FIFO
        spec = ClusterQueueSpec(f"q{number}", cohort, strategy, preemption, shape.fungibility, tuple(groups))
        made.upsert_queue(spec, 0.0)
    return made


def asked(number: int, created: float, shape: Shape, dice: random.Random) -> WorkloadSpec:
    """What one team asks for."""
    size = dice.choice((1, 1, 2, 3, 4, 6))
    requests = {GPU: 1, CPU: dice.choice((1, 4))} if shape.cpu else {GPU: 1}
    minimum = max(1, size // 2) if shape.partial and dice.random() < 0.5 else None
    flavors = frozenset({"h100", "a100"}) if shape.pinned and dice.random() < 0.5 else None
    podset = PodSet("main", size, requests, minimum, flavors)
    queue, priority = f"q{dice.randrange(TEAMS)}", dice.choice((-10, 0, 0, 100))
    return WorkloadSpec(f"w{number:03}", queue, priority, created, (podset,))


class History:
    """Plays workloads that come and go, at more than the cluster can bear, and keeps what is decided."""

    def __init__(self, made: Engine, shape: Shape) -> None:
        dice = random.Random(5)
        self.engine = made
        self.arrivals: list[WorkloadSpec] = []
        self.lasts: dict[str, float] = {}
        self.ends: list[tuple[float, int, str]] = []
        self.lives: dict[str, int] = {}
        self.decided: list[Decision] = []
        at = 0.0
        for number in range(WORKLOADS):
            at += dice.expovariate(1 / 10)
            spec = asked(number, at, shape, dice)
            self.arrivals.append(spec)
            self.lasts[spec.key] = dice.expovariate(1 / 300)

    def play(self) -> list[Decision]:
        """Until everything has ended, or a preemption loop has gone round often enough."""
        waiting = self.arrivals[::-1]
        while (waiting or self.ends) and len(self.decided) < 4 * WORKLOADS:
            times = [spec.created for spec in waiting[-1:]] + [end for end, _, _ in self.ends[:1]]
            due = self.engine.next_due()
            now = min(times if due is None else [*times, due])
            if waiting and waiting[-1].created == now:
                self.engine.submit(waiting.pop())
            while self.ends and self.ends[0][0] <= now:
                _, life, key = heapq.heappop(self.ends)
                if self.lives[key] == life:
                    self.engine.finish(key, now)
            while len(self.decided) < 4 * WORKLOADS and (answers := self.engine.cycle(now)):
                self.note(answers, now)
        return self.decided

    def note(self, answers: list[Decision], now: float) -> None:
        """Let what was admitted run for its time."""
        for decision in answers:
            if isinstance(decision, Admit | Evict):
                life = self.lives[decision.key] = self.lives.get(decision.key, 0) + 1
                if isinstance(decision, Admit):
                    heapq.heappush(self.ends, (now + self.lasts[decision.key], life, decision.key))
        self.decided += [decision for decision in answers if not isinstance(decision, Pending)]


@pytest.mark.parametrize("fair", [None, FairSharing()], ids=["classic", "fair"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("preemption", PREEMPTIONS)
def test_the_quiet_engine_decides_the_same_over_a_long_history(
    preemption: str, shape: str, fair: FairSharing | None
) -> None:
    told, quiet = (
        History(engine(PREEMPTIONS[preemption], SHAPES[shape], fair, explains=explains), SHAPES[shape]).play()
        for explains in (True, False)
    )
    assert len(told) > WORKLOADS // 2
    length = min(len(told), len(quiet))  # a loop is cut off at the end of a cycle, which need not be the same one
    assert quiet[:length] == told[:length]
