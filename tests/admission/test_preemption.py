"""Classic preemption: who may evict whom, in which order victims are taken, what happens to them."""

import pytest

from portal.admission import Evict, PreemptionPolicy, Released
from tests.admission.building import GPU, Cluster, gpus, queue

NEVER, LOWER = PreemptionPolicy.NEVER, PreemptionPolicy.LOWER_PRIORITY
NEWER, ANY = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY, PreemptionPolicy.ANY


@pytest.mark.parametrize(
    ("policy", "priority", "evicted"),
    [(NEVER, 100, False), (LOWER, 100, True), (LOWER, 0, False), (NEWER, 100, True), (NEWER, 0, False)],
)
def test_within_a_queue_the_policy_decides(policy: PreemptionPolicy, priority: int, evicted: bool) -> None:
    cluster = Cluster(queue("data", *gpus(h200=1), within=policy))
    cluster.submit("first", "data", 1)
    cluster.submit("second", "data", 1, priority=priority)
    assert ("second" in cluster.running) is evicted
    assert bool(cluster.evictions) is evicted


def test_an_older_one_that_waits_evicts_a_newer_one_of_its_priority() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3), within=NEWER))
    cluster.submit("blocker", "data", 2, priority=100)
    cluster.submit("older", "data", 2)
    cluster.submit("newer", "data", 1)
    cluster.finish("blocker")
    assert set(cluster.running) == {"older", "newer"}
    cluster.submit("blocks-again", "data", 2, priority=100)
    assert set(cluster.running) == {"blocks-again", "newer"}
    cluster.engine.delete("blocks-again", cluster.now)
    cluster.running.pop("blocks-again")
    cluster.settle()
    assert set(cluster.running) == {"older", "newer"}


def borrowing(reclaim: PreemptionPolicy) -> Cluster:
    """A queue that lends its two GPUs to another."""
    return Cluster(
        queue("owner", *gpus(h200=2), cohort="lab", reclaim=reclaim),
        queue("borrower", *gpus(h200=1), cohort="lab"),
    )


@pytest.mark.parametrize(
    ("reclaim", "borrowers", "taken"),
    [(NEVER, -10, False), (LOWER, -10, True), (LOWER, 0, False), (ANY, 100, True)],
)
def test_lent_quota_is_taken_back_as_the_policy_allows(reclaim: PreemptionPolicy, borrowers: int, taken: bool) -> None:
    cluster = borrowing(reclaim)
    cluster.submit("borrowed", "borrower", 3, priority=borrowers)
    cluster.submit("mine", "owner", 2)
    assert ("mine" in cluster.running) is taken
    assert cluster.evictions == ([("borrowed", "InCohortReclamation", "mine")] if taken else [])


def test_what_stays_within_its_own_quota_is_not_taken() -> None:
    cluster = borrowing(ANY)
    cluster.submit("theirs", "borrower", 1)
    cluster.submit("mine", "owner", 3)
    assert set(cluster.running) == {"theirs"}


def test_the_owner_takes_back_up_to_its_quota_only() -> None:
    cluster = borrowing(ANY)
    cluster.submit("borrowed", "borrower", 2)
    cluster.submit("also-borrowed", "borrower", 1)
    cluster.submit("within", "owner", 2)
    assert "within" in cluster.running
    cluster.submit("beyond", "owner", 1)
    assert "beyond" not in cluster.running


def test_evicting_while_borrowing_has_a_reason_of_its_own() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=1), cohort="lab", reclaim=LOWER, borrow_below=0),
        queue("b", *gpus(h200=1), cohort="lab"),
        queue("lender", *gpus(h200=2), cohort="lab"),
    )
    cluster.submit("low", "b", 3, priority=-10)
    cluster.submit("high", "a", 2, priority=100)
    assert cluster.evictions == [("low", "InCohortReclaimWhileBorrowing", "high")]
    assert set(cluster.running) == {"high"}


def test_above_the_threshold_nobody_is_evicted_to_borrow() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=1), cohort="lab", reclaim=LOWER, borrow_below=-20),
        queue("b", *gpus(h200=1), cohort="lab"),
        queue("lender", *gpus(h200=2), cohort="lab"),
    )
    cluster.submit("low", "b", 3, priority=-10)
    cluster.submit("high", "a", 2, priority=100)
    assert cluster.evictions == []


def test_lower_priority_goes_first_then_the_latest_admitted() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3), within=LOWER))
    cluster.submit("old", "data", 1)
    cluster.submit("young", "data", 1)
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("one", "data", 1, priority=100)
    cluster.submit("two", "data", 1, priority=100)
    assert [victim for victim, _, _ in cluster.evictions] == ["low", "young"]


def test_other_queues_pay_before_the_own_one() -> None:
    cluster = Cluster(
        queue("owner", *gpus(h200=2), cohort="lab", reclaim=ANY, within=LOWER),
        queue("borrower", *gpus(h200=0), cohort="lab"),
    )
    cluster.submit("own-low", "owner", 1, priority=-10)
    cluster.submit("borrowed", "borrower", 1, priority=100)
    cluster.submit("high", "owner", 1, priority=50)
    assert cluster.evictions == [("borrowed", "InCohortReclamation", "high")]


def test_victims_that_turn_out_not_to_be_needed_are_spared() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4), within=LOWER))
    cluster.submit("large", "data", 3, priority=-10)
    cluster.submit("small", "data", 1, priority=-10)
    cluster.submit("high", "data", 3, priority=100)
    assert cluster.evictions == [("large", "InClusterQueue", "high")]
    assert set(cluster.running) == {"small", "high"}


def test_nobody_is_evicted_when_that_would_not_help() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4), within=LOWER))
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("equal", "data", 3, priority=100)
    cluster.submit("high", "data", 2, priority=100)
    assert cluster.evictions == []
    assert "high" not in cluster.running


def test_only_users_of_the_contested_flavor_are_victims() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=1), within=LOWER))
    cluster.submit("equal", "data", 1, priority=100)
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    assert cluster.evictions == [("low", "InClusterQueue", "high")]
    assert cluster.running["high"] == {GPU: "h100"}


def test_quota_stays_booked_until_the_victim_is_gone() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1), within=LOWER))
    engine = cluster.engine.fork()
    cluster.engine = engine
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    assert cluster.evictions == [("low", "InClusterQueue", "high")]
    assert cluster.messages["high"] == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for nvidia.com/gpu in flavor h200, 1 more needed. "
        "Pending the preemption of 1 workload(s)"
    )
    assert cluster.used("data") == 1
    assert engine.cycle(cluster.now + 60) == []
    answer = engine.release("low", cluster.now + 61)
    assert answer == [Released("low")]
    assert engine.release("low", cluster.now + 61) == []
    cluster.settle()
    assert set(cluster.running) == {"high"}
    assert engine.pending_order("data") == ["low"]


def test_a_preemptor_stays_first_in_its_queue_while_victims_leave() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1), within=LOWER))
    cluster.engine = cluster.engine.fork()
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("preemptor", "data", 1, priority=50)
    cluster.submit("more-urgent", "data", 1, priority=100)
    assert cluster.engine.pending_order("data") == ["preemptor", "more-urgent"]
    cluster.note(cluster.engine.release("low", cluster.now))
    cluster.note(cluster.engine.cycle(cluster.now))
    assert "preemptor" in cluster.running


def test_an_eviction_from_outside_follows_the_same_path() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1)))
    cluster.engine = cluster.engine.fork()
    cluster.submit("w1", "data", 1)
    assert cluster.engine.evict("w1", "NodeFailures") == [Evict("w1", "NodeFailures")]
    assert cluster.engine.evict("w1", "NodeFailures") == []
    assert cluster.used("data") == 1
    cluster.engine.release("w1", cluster.now)
    cluster.running.clear()
    cluster.settle()
    assert set(cluster.running) == {"w1"}


def test_a_victim_that_ends_while_it_leaves_frees_its_quota() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1), within=LOWER))
    cluster.engine = cluster.engine.fork()
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    cluster.finish("low")
    assert set(cluster.running) == {"high"}
    assert cluster.engine.pending_order("data") == []


def test_two_preemptors_do_not_share_a_victim_in_one_cycle() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=1), cohort="lab", reclaim=ANY),
        queue("b", *gpus(h200=1), cohort="lab", reclaim=ANY),
        queue("borrower", *gpus(h200=0), cohort="lab"),
    )
    cluster.submit("borrowed", "borrower", 2)
    cluster.submit("one", "a", 1, settle=False)
    cluster.submit("two", "b", 1, settle=False)
    cluster.note(cluster.engine.cycle(cluster.now))
    assert cluster.messages["two"] == "Workload has overlapping preemption targets with another workload"
    cluster.settle()
    assert set(cluster.running) == {"one", "two"}
