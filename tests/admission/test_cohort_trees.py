"""Cohorts within cohorts: quota of their own, limits on the way up, what counts as far away, loops."""

from portal.admission import CohortSpec, PreemptionPolicy, QuotaCell
from tests.admission.building import GPU, Cluster, gpus, queue


def tree(**cohorts: str | None) -> list[CohortSpec]:
    """Cohorts by name with their parents."""
    return [CohortSpec(name, parent) for name, parent in cohorts.items()]


def with_cohorts(cluster: Cluster, cohorts: list[CohortSpec]) -> Cluster:
    """Add cohort objects to a cluster."""
    for spec in cohorts:
        cluster.engine.upsert_cohort(spec, cluster.now)
    return cluster.settle()


def test_a_queue_borrows_across_the_tree() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"), queue("b", *gpus(h200=3), cohort="right"))
    with_cohorts(cluster, tree(left="root", right="root"))
    cluster.submit("w1", "a", 4)
    assert "w1" in cluster.running
    assert cluster.engine.path("a") == "/root/left/a"


def test_a_cohort_has_quota_of_its_own() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"))
    with_cohorts(cluster, [CohortSpec("left", None, resource_groups=gpus(h200=2))])
    cluster.submit("w1", "a", 3)
    assert cluster.engine.usage("a") == {"h200": {GPU: (3, 2)}}


def test_a_cohorts_borrowing_limit_holds_for_all_below_it() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"), queue("b", *gpus(h200=5), cohort="root"))
    left = CohortSpec("left", "root", resource_groups=gpus(h200=QuotaCell(0, borrowing_limit=2)))
    with_cohorts(cluster, [left])
    assert cluster.engine.maximum("a", "h200", GPU) == 3
    cluster.submit("w1", "a", 4)
    assert cluster.running == {}
    cluster.submit("w2", "a", 3)
    assert set(cluster.running) == {"w2"}


def test_a_cohorts_lending_limit_keeps_quota_in_its_subtree() -> None:
    cluster = Cluster(queue("a", *gpus(h200=4), cohort="left"), queue("b", *gpus(h200=1), cohort="root"))
    left = CohortSpec("left", "root", resource_groups=gpus(h200=QuotaCell(0, lending_limit=1)))
    with_cohorts(cluster, [left])
    assert cluster.engine.maximum("b", "h200", GPU) == 2
    assert cluster.engine.maximum("a", "h200", GPU) == 5


def test_quota_from_nearby_goes_before_quota_from_afar() -> None:
    cluster = Cluster(
        queue("near", *gpus(h200=0), cohort="left"),
        queue("lender", *gpus(h200=2), cohort="left"),
        queue("far", *gpus(h200=0), cohort="right"),
    )
    with_cohorts(cluster, tree(left="root", right="root"))
    cluster.submit("old-from-afar", "far", 2, settle=False)
    cluster.submit("young-from-near", "near", 2, settle=False)
    cluster.settle()
    assert set(cluster.running) == {"young-from-near"}


def test_the_owner_of_quota_evicts_a_borrower_from_another_branch() -> None:
    cluster = Cluster(
        queue("owner", *gpus(h200=2), cohort="left", reclaim=PreemptionPolicy.ANY),
        queue("borrower", *gpus(h200=0), cohort="right"),
    )
    with_cohorts(cluster, tree(left="root", right="root"))
    cluster.submit("borrowed", "borrower", 2, priority=100)
    cluster.submit("mine", "owner", 2)
    assert set(cluster.running) == {"mine"}
    assert cluster.evictions == [("borrowed", "InCohortReclamation", "mine")]


def test_standing_closer_to_the_quota_beats_priority() -> None:
    """The quota belongs to the left cohort: who is in it may evict who is not, whatever the priority."""
    cluster = Cluster(
        queue("inside", *gpus(h200=0), cohort="left", reclaim=PreemptionPolicy.ANY),
        queue("outside", *gpus(h200=0), cohort="right", reclaim=PreemptionPolicy.ANY),
    )
    with_cohorts(cluster, [CohortSpec("left", "root", resource_groups=gpus(h200=2)), CohortSpec("right", "root")])
    cluster.submit("far", "outside", 2, priority=100)
    cluster.submit("near", "inside", 2, priority=-10)
    assert set(cluster.running) == {"near"}
    cluster.submit("far-again", "outside", 2, priority=100)
    assert set(cluster.running) == {"near"}


def test_queues_whose_cohorts_form_a_loop_admit_nothing_until_it_is_cut() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"))
    with_cohorts(cluster, tree(left="right", right="left"))
    cluster.submit("w1", "a", 1)
    assert cluster.running == {}
    assert cluster.messages["w1"] == "ClusterQueue a is inactive"
    with_cohorts(cluster, [CohortSpec("right", None)])
    assert set(cluster.running) == {"w1"}


def test_removing_a_cohort_object_keeps_its_members_together() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"), queue("b", *gpus(h200=1), cohort="left"))
    with_cohorts(cluster, [CohortSpec("left", None, resource_groups=gpus(h200=2))])
    assert cluster.engine.maximum("a", "h200", GPU) == 4
    cluster.engine.delete_cohort("left", cluster.now)
    assert cluster.engine.maximum("a", "h200", GPU) == 2


def test_moving_a_queue_to_another_cohort_moves_what_it_may_borrow() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="left"), queue("b", *gpus(h200=3), cohort="right"))
    cluster.submit("w1", "a", 2)
    assert cluster.running == {}
    cluster.put(queue("a", *gpus(h200=1), cohort="right"))
    assert set(cluster.running) == {"w1"}
    assert cluster.engine.path("a") == "/right/a"


def test_usage_above_a_cohort_follows_the_lending_limits_below() -> None:
    cluster = Cluster(
        queue("a", *gpus(h200=QuotaCell(4, lending_limit=1)), cohort="left"),
        queue("b", *gpus(h200=1), cohort="left"),
    )
    cluster.submit("w1", "a", 3)
    assert cluster.engine.available("b", "h200", GPU) == 2
    cluster.submit("w2", "a", 1)
    assert cluster.engine.available("b", "h200", GPU) == 1
    cluster.finish("w2")
    assert cluster.engine.available("b", "h200", GPU) == 2
