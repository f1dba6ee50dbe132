"""Who is tried when: priority and age, StrictFIFO, parking with its classes, the batch one second later."""

from portal.admission import REQUEUE_BATCH_SECONDS, Engine, PodSet, PreemptionPolicy, WorkloadSpec
from tests.admission.building import GPU, Cluster, gpus, queue


def full(*, strict: bool = False) -> Cluster:
    """One queue of two GPUs, both in use."""
    cluster = Cluster(queue("data", *gpus(h200=2), strict=strict))
    cluster.submit("running", "data", 2)
    return cluster


def test_higher_priority_goes_first_then_age() -> None:
    cluster = full()
    cluster.submit("old", "data", 2)
    cluster.submit("young", "data", 2)
    cluster.submit("urgent", "data", 2, priority=100)
    assert cluster.engine.pending_order("data") == ["urgent", "old", "young"]
    cluster.finish("running")
    assert set(cluster.running) == {"urgent"}


def test_best_effort_lets_a_smaller_one_pass() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3)))
    cluster.submit("running", "data", 2)
    cluster.submit("large", "data", 2)
    cluster.submit("small", "data", 1)
    assert set(cluster.running) == {"running", "small"}


def test_strict_lets_nobody_pass_and_tells_those_behind_nothing() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3), strict=True))
    cluster.submit("running", "data", 2)
    cluster.submit("large", "data", 2)
    cluster.submit("small", "data", 1)
    assert set(cluster.running) == {"running"}
    assert set(cluster.messages) == {"large"}
    cluster.finish("running")
    assert set(cluster.running) == {"large", "small"}


def test_a_strict_head_takes_freed_quota_before_parked_work_of_other_queues_comes_back() -> None:
    cluster = Cluster(
        queue("strict", *gpus(h200=0), cohort="lab", strict=True), queue("owner", *gpus(h200=2), cohort="lab")
    )
    cluster.submit("running", "owner", 2)
    cluster.submit("urgent-but-parked", "owner", 2, priority=100)
    cluster.submit("strict-head", "strict", 2)
    cluster.finish("running")
    assert set(cluster.running) == {"strict-head"}


def test_parked_work_comes_back_one_second_after_something_left() -> None:
    cluster = full()
    cluster.submit("waiting", "data", 1)
    engine = cluster.engine
    engine.finish("running", 100.0)
    assert engine.cycle(100.0) == []
    assert engine.next_due() == 100.0 + REQUEUE_BATCH_SECONDS
    assert engine.cycle(100.9) == []
    assert [decision.key for decision in engine.cycle(101.0)] == ["waiting"]
    assert engine.next_due() is None


def test_leavers_within_the_second_share_one_batch() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2)))
    for key in ("a", "b", "c"):
        cluster.submit(key, "data", 1)
    engine = cluster.engine
    engine.finish("a", 100.0)
    engine.finish("b", 100.8)
    assert engine.next_due() == 101.0


def test_a_submission_parks_with_its_class_untried() -> None:
    cluster = full()
    cluster.submit("first", "data", 1)
    cluster.submit("same-class", "data", 1)
    assert "first" in cluster.messages
    assert "same-class" not in cluster.messages
    assert cluster.engine.pending_order("data") == ["first", "same-class"]


def test_another_size_or_priority_is_another_class() -> None:
    cluster = full()
    cluster.submit("first", "data", 1)
    cluster.submit("larger", "data", 2)
    cluster.submit("more-urgent", "data", 1, priority=100)
    assert set(cluster.messages) == {"first", "larger", "more-urgent"}


def test_strict_queues_do_not_park_by_class() -> None:
    cluster = full(strict=True)
    cluster.submit("first", "data", 1)
    cluster.submit("same-class", "data", 1)
    cluster.finish("running")
    assert set(cluster.running) == {"first", "same-class"}


def test_an_admission_brings_nobody_back() -> None:
    """A parked workload of high priority does not evict one of low priority that was admitted after it was parked."""
    cluster = Cluster(queue("data", *gpus(h200=3), within=PreemptionPolicy.LOWER_PRIORITY))
    cluster.submit("equal", "data", 2, priority=100)
    cluster.submit("parked", "data", 2, priority=100)
    cluster.submit("low", "data", 1, priority=-10)
    assert set(cluster.running) == {"equal", "low"}
    assert cluster.evictions == []


def test_deleting_waiting_work_brings_the_parked_back() -> None:
    cluster = full()
    cluster.submit("first", "data", 1)
    cluster.submit("second", "data", 1)
    cluster.engine.delete("first", cluster.now)
    cluster.settle()
    assert "second" in cluster.messages
    assert cluster.engine.pending_order("data") == ["second"]


def test_what_ends_before_it_ran_leaves_the_queue() -> None:
    cluster = full()
    cluster.submit("waiting", "data", 1)
    cluster.finish("waiting")
    assert cluster.engine.pending_order("data") == []
    cluster.finish("running")
    assert cluster.running == {}


def test_one_head_a_queue_is_tried_in_a_cycle() -> None:
    cluster = Cluster(queue("a", *gpus(h200=2), cohort="lab"), queue("b", *gpus(h200=2), cohort="lab"))
    for number, to in enumerate(("a", "a", "b", "b")):
        cluster.submit(f"w{number}", to, 1, settle=False)
    first = cluster.engine.cycle(cluster.now)
    assert [decision.key for decision in first] == ["w0", "w2"]


def test_those_that_do_not_borrow_go_before_those_that_do() -> None:
    cluster = Cluster(queue("borrower", *gpus(h200=0), cohort="lab"), queue("owner", *gpus(h200=1), cohort="lab"))
    cluster.submit("older-but-borrows", "borrower", 1, priority=100, settle=False)
    cluster.submit("owner", "owner", 1, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"owner"}
    assert cluster.messages["older-but-borrows"] == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for nvidia.com/gpu in flavor h200, 1 more needed"
    )


def test_who_loses_within_a_cycle_is_told_so_and_tried_again() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="lab"), queue("b", *gpus(h200=1), cohort="lab"))
    cluster.submit("older", "a", 2, settle=False)
    cluster.submit("younger", "b", 2, settle=False)
    answers = cluster.engine.cycle(cluster.now)
    assert [decision.key for decision in answers] == ["older", "younger"]
    cluster.note(answers)
    assert cluster.messages["younger"] == "Workload no longer fits after processing another workload"
    assert cluster.engine.pending_order("b") == ["younger"]


def test_a_head_that_waits_for_quota_keeps_what_is_left_for_the_rest_of_the_cycle() -> None:
    cluster = Cluster(queue("a", *gpus(h200=2), cohort="lab"), queue("b", *gpus(h200=0), cohort="lab"))
    cluster.submit("running", "a", 1)
    cluster.submit("needs-both", "a", 2, settle=False)
    cluster.submit("would-take-one", "b", 1, settle=False)
    cluster.note(cluster.engine.cycle(cluster.now))
    assert cluster.messages["would-take-one"] == "Workload no longer fits after processing another workload"
    cluster.settle()
    assert set(cluster.running) == {"running", "would-take-one"}


def test_a_queue_that_can_always_reclaim_keeps_nothing_back() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=2), cohort="lab", reclaim=PreemptionPolicy.ANY), queue("b", *gpus(h200=0), cohort="lab")
    )
    cluster.submit("running", "a", 1)
    cluster.submit("needs-both", "a", 2, settle=False)
    cluster.submit("takes-one", "b", 1, settle=False)
    cluster.note(cluster.engine.cycle(cluster.now))
    assert set(cluster.running) == {"running", "takes-one"}


def test_the_same_message_is_said_once() -> None:
    cluster = full(strict=True)
    cluster.submit("waiting", "data", 1)
    cluster.submit("elsewhere", "data", 1)
    before = dict(cluster.messages)
    assert cluster.engine.cycle(cluster.now + 10) == []
    assert cluster.messages == before


def test_a_workload_may_come_before_its_queue() -> None:
    engine = Engine(instant_release=True)
    answer = engine.submit(WorkloadSpec("w1", "data", 0, 0.0, (PodSet("main", 1, {GPU: 1}),)))
    assert [str(decision) for decision in answer] == [
        "Pending(key='w1', message='ClusterQueue data not found', reason=<PendingReason.INADMISSIBLE: 'Inadmissible'>)"
    ]
    engine.upsert_queue(queue("data", *gpus(h200=1)), 1.0)
    assert [decision.key for decision in engine.cycle(1.0)] == ["w1"]


def test_a_known_key_is_not_submitted_twice() -> None:
    cluster = full()
    cluster.submit("running", "data", 1)
    assert cluster.engine.pending_order("data") == []
    assert cluster.used("data") == 2
