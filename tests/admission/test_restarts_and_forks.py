"""Taking over a running cluster after a restart, trying things out on a copy, and preemption loops."""

from portal.admission import Admit, Engine, PodSet, PodSetAssignment, PreemptionPolicy, PreemptionReason, WorkloadSpec
from portal.admission.messages import preempted
from tests.admission.building import CPU, GPU, Cluster, gpus, queue

LOWER = PreemptionPolicy.LOWER_PRIORITY


def workload(key: str, to: str, count: int, *, priority: int = 0, created: float = 0.0, pods: int = 1) -> WorkloadSpec:
    """A workload of equal pods."""
    return WorkloadSpec(key, to, priority, created, (PodSet("main", pods, {GPU: count}),))


def restored(*, reserved_at: float = 5.0) -> Engine:
    """An engine that took over one workload of three pods, two of which were admitted."""
    engine = Engine(instant_release=True)
    engine.upsert_queue(queue("data", *gpus(h200=4), within=LOWER), 10.0)
    assignment = (PodSetAssignment("main", {GPU: "h200"}, 2),)
    engine.restore_admitted(workload("before", "data", 1, pods=3), assignment, reserved_at)
    return engine


def test_restored_work_holds_what_was_assigned_to_it() -> None:
    engine = restored()
    assert engine.usage("data") == {"h200": {GPU: (2, 0)}}
    engine.submit(workload("new", "data", 2, created=11.0))
    assert engine.cycle(11.0) == [Admit("new", "data", (PodSetAssignment("main", {GPU: "h200"}, 1),))]
    engine.finish("before", 12.0)
    assert engine.usage("data") == {"h200": {GPU: (2, 0)}}


def test_restored_work_is_a_victim_like_any_other() -> None:
    engine = restored()
    engine.submit(workload("urgent", "data", 4, priority=100, created=11.0))
    evicted = [decision for _, decision in engine.settle(11.0).decisions if decision.key == "before"]
    assert str(evicted[0]).startswith("Evict(key='before'")
    assert engine.pending_order("data") == ["before"]


def test_the_time_of_reservation_orders_victims_across_a_restart() -> None:
    engine = restored(reserved_at=5.0)
    engine.restore_admitted(workload("later", "data", 2), (PodSetAssignment("main", {GPU: "h200"}, 1),), 9.0)
    engine.submit(workload("urgent", "data", 2, priority=100, created=11.0))
    victims = [decision.key for decision in engine.cycle(11.0) if not isinstance(decision, Admit)]
    assert victims == ["later", "urgent"]


def test_restored_work_that_its_queue_no_longer_covers_still_counts() -> None:
    engine = Engine(instant_release=True)
    engine.upsert_queue(queue("data", *gpus(h200=4)), 0.0)
    spec = WorkloadSpec("before", "data", 0, 0.0, (PodSet("main", 1, {GPU: 1, CPU: 2}),))
    engine.restore_admitted(spec, (PodSetAssignment("main", {GPU: "h200", CPU: "gone"}, 1),), 0.0)
    assert engine.usage("data") == {"h200": {GPU: (1, 0)}}
    engine.finish("before", 1.0)
    assert engine.usage("data") == {"h200": {GPU: (0, 0)}}


def test_a_replay_after_a_restart_decides_as_the_engine_that_stayed() -> None:
    stayed = Cluster(queue("data", *gpus(h200=4, h100=2), within=LOWER))
    for number in range(5):
        stayed.submit(f"w{number}", "data", 1 + number % 2, priority=(number % 3) * 10)
    again = Engine(instant_release=True)
    again.upsert_queue(queue("data", *gpus(h200=4, h100=2), within=LOWER), 0.0)
    for key, held in sorted(stayed.running.items()):
        number = int(key[1:])
        spec = workload(key, "data", 1 + number % 2, priority=(number % 3) * 10, created=float(number))
        again.restore_admitted(spec, (PodSetAssignment("main", held, 1),), 3.0 * (number + 1))
    for key in stayed.engine.pending_order("data"):
        number = int(key[1:])
        again.submit(workload(key, "data", 1 + number % 2, priority=(number % 3) * 10, created=float(number)))
    again.settle(100.0)
    assert again.usage("data") == stayed.engine.usage("data")
    assert again.pending_order("data") == stayed.engine.pending_order("data")


def test_what_happens_to_a_fork_does_not_reach_the_original() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=2), cohort="lab", within=LOWER), queue("b", *gpus(h200=2), cohort="lab", within=LOWER)
    )
    cluster.submit("running", "a", 3)
    cluster.submit("parked", "b", 2)
    before = (cluster.engine.usage("a"), cluster.engine.pending_order("b"), cluster.engine.available("b", "h200", GPU))
    fork = cluster.engine.fork(instant_release=True)
    fork.submit(workload("urgent", "a", 4, priority=100, created=50.0))
    fork.settle(50.0)
    fork.finish("urgent", 60.0)
    fork.upsert_queue(queue("b", *gpus(h200=9), cohort="lab"), 61.0)
    fork.delete("parked", 62.0)
    fork.settle(63.0)
    after = (cluster.engine.usage("a"), cluster.engine.pending_order("b"), cluster.engine.available("b", "h200", GPU))
    assert after == before


def test_a_fork_goes_on_from_where_the_original_stood() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2), within=LOWER))
    cluster.submit("running", "data", 2)
    cluster.submit("parked", "data", 2)
    cluster.submit("parked-too", "data", 1)
    fork = cluster.engine.fork(instant_release=True)
    fork.finish("running", 100.0)
    cluster.engine.finish("running", 100.0)
    assert fork.next_due() == cluster.engine.next_due() == 101.0
    assert fork.settle(100.0) == cluster.engine.settle(100.0)


def test_a_fork_keeps_who_is_leaving() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1), within=LOWER))
    cluster.engine = cluster.engine.fork()
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    fork = cluster.engine.fork(instant_release=True)
    admitted = [decision.key for _, decision in fork.settle(cluster.now).decisions if isinstance(decision, Admit)]
    assert admitted == ["high"]
    assert cluster.engine.pending_order("data") == ["high"]


def test_a_preemption_loop_is_reported_and_ends() -> None:
    """The younger one evicts with one pod, then is tried with both, borrows like the older one, and goes after it."""
    cluster = Cluster(
        queue("q1", *gpus(h200=1), cohort="lab", reclaim=PreemptionPolicy.ANY),
        queue("q2", *gpus(h200=1), cohort="lab", reclaim=PreemptionPolicy.ANY),
    )
    cluster.submit("borrowed", "q2", 2)
    cluster.now += 3
    podset = PodSet("main", 2, {GPU: 1}, min_count=1)
    cluster.engine.submit(WorkloadSpec("flexible", "q1", 0, cluster.now, (podset,)))
    settled = cluster.engine.settle(cluster.now)
    assert settled.looping
    assert len([decision for _, decision in settled.decisions if decision.key == "borrowed"]) < 60


def test_a_victims_message_names_rule_and_paths() -> None:
    engine = Cluster(queue("a", *gpus(h200=1), cohort="lab"), queue("b", *gpus(h200=1))).engine
    message = preempted("u1", "j1", PreemptionReason.IN_COHORT_RECLAMATION, engine.path("b"), engine.path("a"))
    assert message == (
        "Preempted to accommodate a workload (UID: u1, JobUID: j1) due to reclamation within the cohort; "
        "preemptor path: /b; preemptee path: /lab/a"
    )


def test_amounts_are_written_as_the_caller_says() -> None:
    engine = Engine(text=lambda resource, amount: f"{amount // 1000}" if resource == CPU else str(amount))
    group = gpus(h200=1)[0]
    cores = type(group)((CPU,), (type(group.flavors[0])("pool", {CPU: type(group.flavors[0].resources[GPU])(4000)}),))
    engine.upsert_queue(queue("data", cores), 0.0)
    engine.submit(WorkloadSpec("w1", "data", 0, 0.0, (PodSet("main", 1, {CPU: 6000}),)))
    (pending,) = engine.cycle(0.0)
    assert "current podset request (6) > maximum capacity (4)" in str(pending)
