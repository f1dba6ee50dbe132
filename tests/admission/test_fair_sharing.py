"""Fair sharing: whose turn it is by shares and weights, and who is evicted for the sake of them."""

import pytest

from portal.admission import CohortSpec, FairSharing, FairStrategy, PreemptionPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.shares import ShareBook
from tests.admission.building import GPU, Cluster, gpus, queue

ANY = PreemptionPolicy.ANY
FINAL, INITIAL = FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE, FairStrategy.LESS_THAN_INITIAL_SHARE


def lab(*, reclaim: PreemptionPolicy = ANY, fair: FairSharing | None = None, weight: float = 1.0) -> Cluster:
    """Two teams without quota of their own that share four GPUs of a third."""
    return Cluster(
        queue("a", *gpus(h200=0), cohort="lab", reclaim=reclaim, weight=weight),
        queue("b", *gpus(h200=0), cohort="lab", reclaim=reclaim),
        queue("lender", *gpus(h200=4), cohort="lab"),
        fair=fair or FairSharing(),
    )


def test_the_team_with_less_goes_first() -> None:
    cluster = lab()
    cluster.submit("a1", "a", 2)
    cluster.submit("a2-older", "a", 2, priority=100, settle=False)
    cluster.submit("b1", "b", 2, priority=-10, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"a1", "b1"}


def test_without_fair_sharing_priority_goes_first() -> None:
    cluster = lab()
    cluster.engine.set_fair_sharing(None, cluster.now)
    cluster.settle()
    cluster.submit("a1", "a", 2)
    cluster.submit("a2-older", "a", 2, priority=100, settle=False)
    cluster.submit("b1", "b", 2, priority=-10, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"a1", "a2-older"}


def test_a_team_of_more_weight_may_have_more() -> None:
    cluster = lab(weight=3.0)
    cluster.submit("a1", "a", 2)
    cluster.submit("a2", "a", 1, settle=False)
    cluster.submit("b1", "b", 2, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"a1", "a2"}


def test_a_weight_of_zero_loses_as_soon_as_it_borrows() -> None:
    cluster = lab(weight=0.0)
    cluster.submit("a1", "a", 4, priority=100, settle=False)
    cluster.submit("b1", "b", 4, priority=-10, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"b1"}
    assert cluster.evictions == []


def test_what_stays_within_its_quota_goes_before_what_borrows() -> None:
    cluster = lab()
    cluster.submit("borrows", "a", 4, priority=100, settle=False)
    cluster.submit("owns", "lender", 4, priority=-10, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"owns"}


def test_shares_are_evened_out_by_eviction() -> None:
    cluster = lab()
    for number in range(4):
        cluster.submit(f"a{number}", "a", 1)
    cluster.submit("b1", "b", 1)
    cluster.submit("b2", "b", 1)
    cluster.submit("b3", "b", 1)
    assert sorted(cluster.running) == ["a0", "a1", "b1", "b2"]
    assert cluster.evictions == [("a3", "InCohortFairSharing", "b1"), ("a2", "InCohortFairSharing", "b2")]


def test_nobody_is_evicted_for_sharing_when_reclaiming_is_off() -> None:
    cluster = lab(reclaim=PreemptionPolicy.NEVER)
    cluster.submit("a1", "a", 4)
    cluster.submit("b1", "b", 1)
    assert set(cluster.running) == {"a1"}


@pytest.mark.parametrize(("strategies", "evicted"), [((FINAL,), False), ((FINAL, INITIAL), True), ((INITIAL,), True)])
def test_the_strategies_weigh_one_large_victim_differently(strategies: tuple[FairStrategy, ...], evicted: bool) -> None:
    """The victim's share falls to nothing: by the final share that is unfair, by the initial share it is not."""
    cluster = lab(fair=FairSharing(strategies))
    cluster.submit("all", "a", 4)
    cluster.submit("some", "b", 2)
    assert ("some" in cluster.running) is evicted
    assert cluster.evictions == ([("all", "InCohortFairSharing", "some")] if evicted else [])


def test_the_owner_takes_its_quota_back_whatever_the_shares() -> None:
    cluster = Cluster(
        queue("owner", *gpus(h200=2), cohort="lab", reclaim=ANY),
        queue("borrower", *gpus(h200=0), cohort="lab"),
        fair=FairSharing(),
    )
    cluster.submit("borrowed", "borrower", 2, priority=100)
    cluster.submit("mine", "owner", 2, priority=-10)
    assert cluster.evictions == [("borrowed", "InCohortReclamation", "mine")]


def test_within_the_own_queue_priority_decides() -> None:
    spec = queue("data", *gpus(h200=1), within=PreemptionPolicy.LOWER_PRIORITY)
    cluster = Cluster(spec, fair=FairSharing())
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    assert cluster.evictions == [("low", "InClusterQueue", "high")]


def test_victims_come_from_the_branch_with_the_highest_share() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=0), cohort="left", reclaim=ANY),
        queue("b", *gpus(h200=0), cohort="right", reclaim=ANY),
        queue("c", *gpus(h200=0), cohort="right", reclaim=ANY),
        queue("lender", *gpus(h200=6), cohort="root"),
        fair=FairSharing(),
    )
    for name in ("left", "right"):
        cluster.engine.upsert_cohort(CohortSpec(name, "root"), cluster.now)
    cluster.settle()
    for number in range(3):
        cluster.submit(f"b{number}", "b", 1)
        cluster.submit(f"c{number}", "c", 1)
    cluster.submit("a1", "a", 1)
    assert len(cluster.evictions) == 1
    victim, reason, by = cluster.evictions[0]
    assert victim in {"b2", "c2"}
    assert (reason, by) == ("InCohortFairSharing", "a1")


def test_a_cohorts_weight_counts_between_cohorts() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=0), cohort="heavy"),
        queue("b", *gpus(h200=0), cohort="light"),
        queue("lender", *gpus(h200=4), cohort="root"),
        fair=FairSharing(),
    )
    cluster.engine.upsert_cohort(CohortSpec("heavy", "root", weight=4.0), cluster.now)
    cluster.engine.upsert_cohort(CohortSpec("light", "root"), cluster.now)
    cluster.settle()
    cluster.submit("a1", "a", 2)
    cluster.submit("b1", "b", 2, settle=False)
    cluster.submit("a2", "a", 2, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"a1", "a2"}


def node(name: str, nominal: int, used: int, *, weight: float = 1.0, queue_node: bool = True) -> QuotaNode:
    """A node with one cell."""
    made = QuotaNode(name, is_queue=queue_node, weight=weight)
    made.nominal, made.borrowing_limit, made.lending_limit = [nominal], [None], [None]
    made.local_quota, made.usage = [0], [used]
    return made


@pytest.mark.parametrize(
    ("used", "weight", "rank"),
    [(2, 1.0, (False, 0.0)), (4, 1.0, (False, 250.0)), (4, 2.0, (False, 125.0)), (4, 0.0, (True, 250.0))],
)
def test_a_share_is_what_is_borrowed_of_what_can_be_lent(used: int, weight: float, rank: tuple[bool, float]) -> None:
    cohort, one, other = node("lab", 0, 0, queue_node=False), node("a", 2, used, weight=weight), node("b", 6, 0)
    one.attach(cohort)
    other.attach(cohort)
    cohort.recompute()
    book = ShareBook([("h200", GPU)])
    assert book.share(one).rank == rank
    assert book.share(one).borrows is (used > 2)
    assert book.share(cohort).rank == (False, 0.0)
