"""What administrators and owners do: stop and drain queues, deactivate work, change quotas, remove queues."""

from portal.admission import Evict, PreemptionPolicy, StopPolicy
from tests.admission.building import GPU, Cluster, gpus, queue

HOLD, DRAIN = StopPolicy.HOLD, StopPolicy.HOLD_AND_DRAIN


def data(gpu: int = 2, stop: StopPolicy = StopPolicy.NONE) -> Cluster:
    """One queue with something running and something waiting."""
    cluster = Cluster(queue("data", *gpus(h200=gpu), stop=stop))
    cluster.submit("running", "data", gpu)
    cluster.submit("waiting", "data", 1)
    return cluster


def test_a_held_queue_admits_nobody_and_keeps_what_runs() -> None:
    cluster = data()
    cluster.put(queue("data", *gpus(h200=2), stop=HOLD))
    assert set(cluster.running) == {"running"}
    assert cluster.messages["waiting"] == "ClusterQueue data is inactive"
    cluster.finish("running")
    assert cluster.running == {}
    cluster.submit("new", "data", 1)
    assert cluster.messages["new"] == "ClusterQueue data is inactive"
    cluster.put(queue("data", *gpus(h200=2)))
    assert set(cluster.running) == {"waiting", "new"}


def test_a_drained_queue_evicts_everybody() -> None:
    cluster = data()
    cluster.put(queue("data", *gpus(h200=2), stop=DRAIN))
    assert cluster.running == {}
    assert cluster.evictions == [("running", "ClusterQueueStopped", None)]
    assert cluster.engine.pending_order("data") == ["running", "waiting"]
    assert cluster.used("data") == 0
    cluster.put(queue("data", *gpus(h200=2)))
    assert "running" in cluster.running


def test_drained_work_does_not_come_back_while_the_queue_is_only_held() -> None:
    cluster = data()
    cluster.put(queue("data", *gpus(h200=2), stop=DRAIN))
    cluster.put(queue("data", *gpus(h200=2), stop=HOLD))
    assert cluster.running == {}
    cluster.put(queue("data", *gpus(h200=2)))
    assert "running" in cluster.running


def test_a_stopped_queue_still_lends() -> None:
    cluster = Cluster(
        queue("stopped", *gpus(h200=2), cohort="lab", stop=HOLD), queue("borrower", *gpus(h200=0), cohort="lab")
    )
    cluster.submit("w1", "borrower", 2)
    assert set(cluster.running) == {"w1"}


def test_work_in_a_stopped_queue_is_no_victim() -> None:
    cluster = Cluster(
        queue("owner", *gpus(h200=2), cohort="lab", reclaim=PreemptionPolicy.ANY),
        queue("borrower", *gpus(h200=0), cohort="lab"),
    )
    cluster.submit("borrowed", "borrower", 2)
    cluster.put(queue("borrower", *gpus(h200=0), cohort="lab", stop=HOLD))
    cluster.submit("mine", "owner", 2)
    assert set(cluster.running) == {"borrowed"}


def test_deactivating_frees_quota_and_keeps_out_of_the_queue() -> None:
    cluster = data()
    answer = cluster.engine.set_active("running", cluster.now, active=False)
    cluster.note(answer)
    assert answer[0] == Evict("running", "Deactivated")
    assert cluster.messages["running"] == "The workload is deactivated"
    cluster.settle()
    assert set(cluster.running) == {"waiting"}
    assert cluster.engine.pending_order("data") == []


def test_activating_again_waits_at_the_old_place() -> None:
    cluster = data()
    cluster.note(cluster.engine.set_active("running", cluster.now, active=False))
    cluster.settle()
    cluster.engine.set_active("running", cluster.now, active=True)
    cluster.settle()
    assert cluster.engine.pending_order("data") == ["running"]
    cluster.finish("waiting")
    assert set(cluster.running) == {"running"}


def test_deactivating_what_waits_counts_as_one_eviction() -> None:
    cluster = data()
    assert cluster.engine.set_active("waiting", cluster.now, active=False) == [Evict("waiting", "Deactivated")]
    assert cluster.engine.set_active("waiting", cluster.now, active=False) == []
    assert cluster.engine.set_active("waiting", cluster.now, active=True) == []
    assert cluster.engine.set_active("waiting", cluster.now, active=False) == []
    assert cluster.engine.set_active("nobody", cluster.now, active=False) == []


def test_lowering_a_quota_evicts_nobody() -> None:
    cluster = data()
    cluster.put(queue("data", *gpus(h200=1)))
    assert set(cluster.running) == {"running"}
    assert cluster.engine.available("data", "h200", GPU) == 0
    cluster.finish("running")
    assert set(cluster.running) == {"waiting"}


def test_what_a_lowered_quota_leaves_above_is_borrowed_and_can_be_taken_back() -> None:
    cluster = Cluster(
        queue("owner", *gpus(h200=2), cohort="lab", reclaim=PreemptionPolicy.ANY),
        queue("other", *gpus(h200=2), cohort="lab"),
    )
    cluster.submit("theirs", "other", 2)
    cluster.put(queue("other", *gpus(h200=1), cohort="lab"))
    assert cluster.engine.usage("other") == {"h200": {GPU: (2, 1)}}
    cluster.submit("mine", "owner", 2)
    assert cluster.evictions == [("theirs", "InCohortReclamation", "mine")]


def test_raising_a_quota_admits_who_waits() -> None:
    cluster = data()
    cluster.put(queue("data", *gpus(h200=3)))
    assert set(cluster.running) == {"running", "waiting"}


def test_quota_below_the_use_in_a_cohort_is_worked_off() -> None:
    cluster = Cluster(queue("a", *gpus(h200=4), cohort="lab"), queue("b", *gpus(h200=1), cohort="lab", strict=True))
    cluster.submit("large", "a", 4)
    cluster.put(queue("a", *gpus(h200=0), cohort="lab"))
    cluster.submit("waits", "b", 1)
    cluster.submit("waits-too", "a", 1)
    assert set(cluster.running) == {"large"}
    assert cluster.engine.available("b", "h200", GPU) == 0
    cluster.finish("large")
    assert set(cluster.running) == {"waits"}
    assert cluster.used("a") == 0
    assert cluster.engine.available("a", "h200", GPU) == 0


def test_an_unchanged_queue_changes_nothing() -> None:
    cluster = data()
    assert cluster.engine.upsert_queue(queue("data", *gpus(h200=2)), 1000.0) == []
    assert cluster.engine.next_due() is None


def test_a_removed_queue_forgets_its_running_work_and_keeps_who_waits() -> None:
    cluster = data()
    cluster.engine.delete_queue("data", cluster.now)
    cluster.engine.delete_queue("data", cluster.now)
    cluster.settle()
    assert cluster.engine.usage("data") == {}
    cluster.running.clear()
    cluster.put(queue("data", *gpus(h200=2)))
    assert set(cluster.running) == {"waiting"}


def test_events_about_unknown_workloads_do_nothing() -> None:
    cluster = data()
    cluster.engine.finish("nobody", cluster.now)
    cluster.engine.delete("nobody", cluster.now)
    assert cluster.engine.release("nobody", cluster.now) == []
    assert cluster.engine.evict("nobody", "NodeFailures") == []
    assert cluster.engine.cycle(cluster.now) == []
