"""What holds for every cluster and every history: limits, needed victims, more capacity, replays, shortcuts."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    PodSet,
    Preemption,
    PreemptionPolicy,
    QueueingStrategy,
    QuotaCell,
    Released,
    ResourceGroup,
    WorkloadSpec,
)
from portal.admission.candidates import Request, add_usage, fits, remove_usage
from portal.admission.fairness import fair_targets
from portal.admission.forest import Forest
from portal.admission.judgements import Target
from portal.admission.prospects import no_victims
from portal.admission.shares import ShareBook
from portal.admission.victims import classic_targets
from tests.admission.building import GPU

FLAVORS = ("h200", "h100")
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

limits = st.one_of(st.none(), st.integers(0, 4))
cells = st.builds(QuotaCell, st.integers(0, 5), limits, limits)
plain_cells = st.builds(QuotaCell, st.integers(0, 5))
policies = st.sampled_from([PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY, PreemptionPolicy.ANY])
fungibilities = st.builds(
    Fungibility, st.sampled_from(list(FungibilityPolicy)), st.sampled_from(list(FungibilityPolicy))
)
preemptions = st.builds(
    Preemption,
    st.sampled_from([PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY]),
    policies,
    st.booleans(),
)
events = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "submit", "finish"]),
        st.integers(0, 3),  # which queue, or which running one ends
        st.integers(1, 6),  # GPUs in all
        st.sampled_from([-10, 0, 100]),
    ),
    min_size=1,
    max_size=25,
)


def group(quotas: list[QuotaCell]) -> tuple[ResourceGroup, ...]:
    """One group of GPUs in two flavors."""
    return (ResourceGroup((GPU,), tuple(FlavorQuota(n, {GPU: q}) for n, q in zip(FLAVORS, quotas, strict=True))),)


@st.composite
def clusters(draw: st.DrawFn, *, quotas: st.SearchStrategy[QuotaCell] = cells) -> list[ClusterQueueSpec]:
    """Up to four queues in up to two cohorts."""
    return [
        ClusterQueueSpec(
            f"q{number}",
            draw(st.sampled_from(["left", "right"])),
            draw(st.sampled_from(list(QueueingStrategy))),
            draw(preemptions),
            draw(fungibilities),
            group([draw(quotas), draw(quotas)]),
        )
        for number in range(draw(st.integers(1, 4)))
    ]


@dataclass
class History:
    """Plays events on an engine and keeps what runs."""

    queues: list[ClusterQueueSpec]
    fair: FairSharing | None = None
    explains: bool = True
    now: float = 0.0
    decisions: list[Decision] = field(default_factory=list)
    running: dict[str, Admit] = field(default_factory=dict)
    asked: dict[str, WorkloadSpec] = field(default_factory=dict)
    looping: bool = False

    def __post_init__(self) -> None:
        self.engine = Engine(self.fair, instant_release=True, explains=self.explains)
        self.engine.upsert_cohort(CohortSpec("left", "root"), 0.0)
        self.engine.upsert_cohort(CohortSpec("right", "root"), 0.0)
        for spec in self.queues:
            self.engine.upsert_queue(spec, 0.0)
        self.engine.settle(0.0)

    def play(self, event: tuple[str, int, int, int]) -> None:
        """One event, and whatever follows from it."""
        operation, which, amount, priority = event
        self.now += 3
        if operation == "submit":
            key = f"w{len(self.asked)}"
            queue = self.queues[which % len(self.queues)].name
            spec = self.asked[key] = WorkloadSpec(key, queue, priority, self.now, (PodSet("main", 1, {GPU: amount}),))
            self.engine.submit(spec)
        elif self.running:
            key = sorted(self.running)[which % len(self.running)]
            del self.running[key]
            self.engine.finish(key, self.now)
        settled = self.engine.settle(self.now)
        self.now, self.looping = settled.ended_at, self.looping or settled.looping
        for _, decision in settled.decisions:
            self.decisions.append(decision)
            if isinstance(decision, Admit):
                self.running[decision.key] = decision
            elif isinstance(decision, Evict):
                self.running.pop(decision.key, None)

    def used(self, queue: str, flavor: str) -> int:
        """What the running work of a queue holds, counted from the decisions alone."""
        return sum(
            self.asked[key].podsets[0].requests[GPU]
            for key, admit in self.running.items()
            if admit.queue == queue and admit.assignment[0].flavors[GPU] == flavor
        )


def check_limits(history: History) -> None:
    """No queue above what it may have, no more in use than there is, and the books match the decisions."""
    for number, flavor in enumerate(FLAVORS):
        total = capacity = 0
        for spec in history.queues:
            cell = spec.resource_groups[0].flavors[number].resources[GPU]
            used = history.used(spec.name, flavor)
            assert history.engine.usage(spec.name)[flavor][GPU][0] == used
            if cell.borrowing_limit is not None:
                assert used <= cell.nominal + cell.borrowing_limit
            assert used <= max(history.engine.maximum(spec.name, flavor, GPU), 0)
            total, capacity = total + used, capacity + cell.nominal
        assert total <= capacity


@EXAMPLES
@given(clusters(), events, st.booleans())
def test_nobody_ever_gets_more_than_the_limits_allow(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], fair: bool
) -> None:
    history = History(queues, FairSharing() if fair else None)
    for event in played:
        history.play(event)
        if history.looping:  # stopped half way through an eviction
            return
        check_limits(history)


@EXAMPLES
@given(clusters(), events)
def test_waiting_order_is_priority_then_age(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]]
) -> None:
    history = History(queues)
    for event in played:
        history.play(event)
    if history.looping:
        return
    for spec in queues:
        waiting = [history.asked[key] for key in history.engine.pending_order(spec.name)]
        assert waiting == sorted(waiting, key=lambda w: (-w.priority, w.created))
    everything = {key for spec in queues for key in history.engine.pending_order(spec.name)} | set(history.running)
    assert everything <= set(history.asked)


@EXAMPLES
@given(clusters(), events, st.integers(1, 6), st.booleans())
def test_every_victim_is_needed(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], amount: int, fair: bool
) -> None:
    """With all victims gone the preemptor fits, with any one of them spared it does not; the search leaves no trace."""
    history = History(queues)
    for event in played:
        history.play(event)
    forest = history.engine._state.forest
    for queue in forest.queues.values():
        spec = WorkloadSpec("new", queue.spec.name, 100, 1e6, (PodSet("main", 1, {GPU: amount}),))
        preemptor = forest.workload(spec)
        for cell in range(len(FLAVORS)):
            request = Request(preemptor, queue, {cell: amount}, frozenset({cell}))
            if fits(request, borrowing=True):
                continue
            booked = {name: list(known.node.usage) for name, known in forest.queues.items()}
            if fair:
                targets = fair_targets(forest, ShareBook(forest.cells.names), request, FairSharing().strategies)
            else:
                targets = classic_targets(forest, request)
            assert {name: known.node.usage for name, known in forest.queues.items()} == booked
            if targets:
                assert any(minimal(forest, request, targets, borrowing=borrowing) for borrowing in (True, False))
                assert not no_victims(request, fair=fair)


def minimal(forest: Forest, request: Request, targets: list[Target], *, borrowing: bool) -> bool:
    """Whether the request fits without all targets, and without all but any one of them does not."""
    victims = [target.holder for target in targets]
    for victim in victims:
        remove_usage(forest, victim)
    needed = fits(request, borrowing=borrowing)
    for victim in victims:
        add_usage(forest, victim)
        needed = needed and not fits(request, borrowing=borrowing)
        remove_usage(forest, victim)
    for victim in victims:
        add_usage(forest, victim)
    return needed


@EXAMPLES
@given(clusters(quotas=plain_cells), events, st.integers(1, 5))
def test_more_capacity_admits_no_fewer_under_strict_order_in_one_queue(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], more: int
) -> None:
    """Kueue guarantees it where nobody overtakes: a strict queue of its own, one flavor, no evictions, nobody ends."""
    nominal = queues[0].resource_groups[0].flavors[0].resources[GPU].nominal

    def admitted(quota: int) -> set[str]:
        cells = [QuotaCell(quota), QuotaCell(0)]
        spec = ClusterQueueSpec("q0", None, QueueingStrategy.STRICT_FIFO, resource_groups=group(cells))
        history = History([spec])
        for event in played:
            history.play(("submit", *event[1:3], 0))
        return set(history.running)

    assert admitted(nominal) <= admitted(nominal + more)


@EXAMPLES
@given(clusters(), events, st.booleans())
def test_a_replay_decides_the_same_step_by_step(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], fair: bool
) -> None:
    once, again = (History(queues, FairSharing() if fair else None) for _ in range(2))
    for event in played:
        once.play(event)
    for event in played:
        again.play(event)
        again.engine = again.engine.fork(instant_release=True)
    assert once.decisions == again.decisions


@EXAMPLES
@given(clusters(), events, st.booleans())
def test_the_quiet_engine_takes_shortcuts_to_the_same_decisions(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], fair: bool
) -> None:
    told = History(queues, FairSharing() if fair else None)
    quiet = History(queues, FairSharing() if fair else None, explains=False)
    for event in played:
        told.play(event)
        quiet.play(event)
        decided = [d for d in told.decisions if isinstance(d, Admit | Evict | Released)]
        assert quiet.decisions == decided


@EXAMPLES
@given(clusters(), events, st.booleans(), st.booleans())
def test_forks_that_go_their_own_way_leave_no_trace(
    queues: list[ClusterQueueSpec], played: list[tuple[str, int, int, int]], fair: bool, explains: bool
) -> None:
    alone, forked = (History(queues, FairSharing() if fair else None, explains) for _ in range(2))
    for event in played:
        alone.play(event)
    for number, event in enumerate(played):
        fork = forked.engine.fork(explains=bool(number % 2), instant_release=True)
        for key in sorted(forked.running)[::2]:
            fork.finish(key, forked.now)
        fork.submit(WorkloadSpec("other", "q0", 50, forked.now, (PodSet("main", 1, {GPU: 2}),)))
        fork.settle(forked.now)
        forked.play(event)
    assert forked.decisions == alone.decisions
