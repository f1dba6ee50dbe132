"""Nominal quota, borrowing and lending limits, in one queue and between the queues of a flat cohort."""

import pytest

from portal.admission import QuotaCell
from tests.admission.building import CPU, GPU, Cluster, gpus, queue


def test_a_workload_within_nominal_quota_is_admitted_with_its_flavor() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2)))
    cluster.submit("w1", "data", 2)
    assert cluster.running == {"w1": {GPU: "h200"}}
    assert cluster.engine.usage("data") == {"h200": {GPU: (2, 0)}}


def test_what_does_not_fit_waits_and_says_how_much_is_missing() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2)))
    cluster.submit("w1", "data", 1)
    cluster.submit("w2", "data", 2)
    assert "w2" not in cluster.running
    assert cluster.messages["w2"] == (
        "couldn't assign flavors to pod set main: "
        "insufficient unused quota for nvidia.com/gpu in flavor h200, 1 more needed"
    )


def test_more_than_the_maximum_names_the_maximum() -> None:
    cluster = Cluster(queue("a", *gpus(h200=2), cohort="lab"), queue("b", *gpus(h200=2), cohort="lab"))
    cluster.submit("w1", "a", 9)
    assert cluster.messages["w1"] == (
        "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h200, previously "
        "considered podsets requests (0) + current podset request (9) > maximum capacity (4)"
    )


def test_a_resource_that_the_queue_does_not_know_never_fits() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2)))
    cluster.submit("w1", "data", {GPU: 1, CPU: 4})
    assert cluster.messages["w1"] == "couldn't assign flavors to pod set main: resource cpu unavailable in ClusterQueue"


def test_asking_for_none_of_an_unknown_resource_does_no_harm() -> None:
    cluster = Cluster(queue("data", *gpus(h200=2)))
    cluster.submit("w1", "data", {GPU: 1, CPU: 0})
    assert cluster.running == {"w1": {GPU: "h200"}}


def test_a_queue_borrows_what_its_cohort_leaves_unused() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="lab"), queue("b", *gpus(h200=3), cohort="lab"))
    cluster.submit("w1", "a", 3)
    assert cluster.engine.usage("a") == {"h200": {GPU: (3, 2)}}
    assert cluster.engine.available("b", "h200", GPU) == 1


def test_without_a_cohort_nothing_is_borrowed() -> None:
    cluster = Cluster(queue("a", *gpus(h200=1)), queue("b", *gpus(h200=3)))
    cluster.submit("w1", "a", 2)
    assert cluster.running == {}
    assert cluster.engine.maximum("a", "h200", GPU) == 1


def test_only_a_queue_that_lists_a_flavor_may_borrow_it() -> None:
    cluster = Cluster(queue("a", *gpus(h100=1), cohort="lab"), queue("b", *gpus(h200=3), cohort="lab"))
    cluster.submit("w1", "a", 2)
    assert cluster.running == {}


@pytest.mark.parametrize(("limit", "admitted"), [(0, False), (1, False), (2, True), (None, True)])
def test_the_borrowing_limit_caps_what_is_borrowed(limit: int | None, admitted: bool) -> None:
    mine = gpus(h200=QuotaCell(1, borrowing_limit=limit))
    cluster = Cluster(queue("a", *mine, cohort="lab"), queue("b", *gpus(h200=5), cohort="lab"))
    cluster.submit("w1", "a", 3)
    assert ("w1" in cluster.running) is admitted


@pytest.mark.parametrize(("limit", "admitted"), [(0, False), (1, False), (2, True), (None, True)])
def test_the_lending_limit_caps_what_others_may_borrow(limit: int | None, admitted: bool) -> None:
    theirs = gpus(h200=QuotaCell(5, lending_limit=limit))
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="lab"), queue("b", *theirs, cohort="lab"))
    cluster.submit("w1", "a", 3)
    assert ("w1" in cluster.running) is admitted


def test_a_queue_keeps_what_it_does_not_lend() -> None:
    theirs = gpus(h200=QuotaCell(5, lending_limit=2))
    cluster = Cluster(queue("a", *gpus(h200=1), cohort="lab"), queue("b", *theirs, cohort="lab"))
    cluster.submit("w1", "a", 3)
    cluster.submit("w2", "b", 3)
    assert set(cluster.running) == {"w1", "w2"}


def test_a_zero_quota_queue_may_borrow_everything() -> None:
    cluster = Cluster(queue("a", *gpus(h200=0), cohort="lab"), queue("b", *gpus(h200=4), cohort="lab"))
    cluster.submit("w1", "a", 4)
    assert cluster.engine.usage("a") == {"h200": {GPU: (4, 4)}}


def test_what_ends_gives_its_quota_back() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1)))
    cluster.submit("w1", "data", 1)
    cluster.submit("w2", "data", 1)
    cluster.finish("w1")
    assert set(cluster.running) == {"w2"}
    assert cluster.used("data") == 1


def test_pods_are_a_resource_that_is_counted() -> None:
    from_groups = gpus(h200=8)
    pods = type(from_groups[0])(("pods",), (type(from_groups[0].flavors[0])("slots", {"pods": QuotaCell(1)}),))
    cluster = Cluster(queue("data", *from_groups, pods))
    cluster.submit("w1", "data", 1)
    cluster.submit("w2", "data", 1)
    assert cluster.running == {"w1": {GPU: "h200", "pods": "slots"}}
    assert cluster.messages["w2"] == (
        "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor slots, 1 more needed"
    )


def test_answers_about_unknown_queues_and_flavors_are_empty() -> None:
    engine = Cluster(queue("data", *gpus(h200=1))).engine
    assert engine.pending_order("nobody") == []
    assert engine.usage("nobody") == {}
    assert engine.maximum("nobody", "h200", GPU) == 0
    assert engine.available("data", "b300", GPU) == 0
