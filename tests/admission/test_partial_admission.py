"""Partial admission: fewer pods when all of them do not fit; and several pod sets, all or nothing."""

from portal.admission import PodSet, PreemptionPolicy, QuotaCell
from portal.admission.partial import largest_that_fits
from tests.admission.building import CPU, GPU, Cluster, gpus, queue


def workers(count: int, at_least: int | None = None, gpus_each: int = 1) -> PodSet:
    """A pod set of workers."""
    return PodSet("workers", count, {GPU: gpus_each}, at_least)


def test_as_many_pods_as_fit_are_admitted() -> None:
    cluster = Cluster(queue("data", *gpus(h200=5)))
    cluster.submit("running", "data", 2)
    cluster.submit_podsets("w1", "data", workers(8, at_least=2))
    assert cluster.counts["w1"] == {"workers": 3}
    assert cluster.used("data") == 5


def test_all_pods_are_admitted_when_they_fit() -> None:
    cluster = Cluster(queue("data", *gpus(h200=8)))
    cluster.submit_podsets("w1", "data", workers(8, at_least=2))
    assert cluster.counts["w1"] == {"workers": 8}


def test_below_the_minimum_it_waits() -> None:
    cluster = Cluster(queue("data", *gpus(h200=5)))
    cluster.submit("running", "data", 4)
    cluster.submit_podsets("w1", "data", workers(8, at_least=2))
    assert "w1" not in cluster.running
    assert "maximum capacity (5)" in cluster.messages["w1"]


def test_without_a_minimum_it_is_all_or_nothing() -> None:
    cluster = Cluster(queue("data", *gpus(h200=5)))
    cluster.submit_podsets("w1", "data", workers(8))
    assert cluster.running == {}


def test_an_admitted_count_does_not_grow() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4)))
    cluster.submit("running", "data", 2)
    cluster.submit_podsets("w1", "data", workers(4, at_least=1))
    cluster.finish("running")
    assert cluster.counts["w1"] == {"workers": 2}
    assert cluster.used("data") == 2


def test_evicting_for_all_pods_goes_before_doing_with_fewer() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4), within=PreemptionPolicy.LOWER_PRIORITY))
    cluster.submit("low", "data", 3, priority=-10)
    cluster.submit_podsets("w1", "data", workers(4, at_least=1), priority=100)
    assert cluster.counts["w1"] == {"workers": 4}
    assert cluster.evictions == [("low", "InClusterQueue", "w1")]


def test_fewer_pods_may_evict_too() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4), within=PreemptionPolicy.LOWER_PRIORITY))
    cluster.submit("equal", "data", 2, priority=100)
    cluster.submit("low", "data", 2, priority=-10)
    cluster.submit_podsets("w1", "data", workers(4, at_least=1), priority=100)
    assert cluster.counts["w1"] == {"workers": 2}
    assert cluster.evictions == [("low", "InClusterQueue", "w1")]


def test_pod_sets_shrink_together() -> None:
    cluster = Cluster(queue("data", *gpus(h200=6)))
    driver = PodSet("driver", 1, {GPU: 1})
    cluster.submit_podsets("w1", "data", driver, workers(8, at_least=2), PodSet("extra", 4, {GPU: 1}, 2))
    assert cluster.counts["w1"] == {"driver": 1, "workers": 2, "extra": 2}
    assert cluster.used("data") == 5


def test_the_search_finds_the_largest_counts() -> None:
    podsets = (workers(10, at_least=1), PodSet("driver", 1, {}))
    tried = []

    def attempt(counts: list[int]) -> int | None:
        tried.append(counts)
        return counts[0] if counts[0] <= 7 else None

    assert largest_that_fits(podsets, attempt) == 7
    assert all(counts[1] == 1 for counts in tried)
    assert len(tried) <= 4


def test_the_search_knows_when_nothing_fits_or_nothing_can_shrink() -> None:
    assert largest_that_fits((workers(10, at_least=1),), lambda counts: None) is None
    assert largest_that_fits((workers(10),), lambda counts: counts[0]) is None


def test_all_pod_sets_are_admitted_or_none() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4)))
    cluster.submit_podsets("fits", "data", PodSet("driver", 1, {GPU: 1}), workers(3))
    assert cluster.used("data") == 4
    assert cluster.counts["fits"] == {"driver": 1, "workers": 3}
    cluster.finish("fits")
    cluster.submit_podsets("too-much", "data", PodSet("driver", 1, {GPU: 1}), workers(4))
    assert cluster.used("data") == 0


def test_earlier_pod_sets_count_against_later_ones() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4)))
    cluster.submit_podsets("w1", "data", PodSet("driver", 1, {GPU: 1}), workers(4))
    assert cluster.messages["w1"] == (
        "couldn't assign flavors to pod set workers: insufficient quota for nvidia.com/gpu in flavor h200, "
        "previously considered podsets requests (1) + current podset request (4) > maximum capacity (4)"
    )


def test_pod_sets_of_one_workload_may_get_different_flavors() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=4)))
    cluster.submit_podsets("w1", "data", PodSet("driver", 1, {GPU: 1}), workers(4))
    assert cluster.engine.usage("data") == {"h200": {GPU: (1, 0)}, "h100": {GPU: (4, 0)}}


def test_every_pod_set_that_waits_is_named() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4)))
    cluster.submit("running", "data", 4)
    cluster.submit_podsets("w1", "data", PodSet("driver", 1, {GPU: 1}), workers(2))
    assert cluster.messages["w1"] == (
        "couldn't assign flavors to pod set driver: insufficient unused quota for nvidia.com/gpu in flavor h200, "
        "1 more needed; couldn't assign flavors to pod set workers: insufficient unused quota for nvidia.com/gpu in "
        "flavor h200, 3 more needed"
    )


def test_a_pod_set_without_requests_is_admitted_along() -> None:
    cluster = Cluster(queue("data", *gpus(h200=QuotaCell(1))))
    cluster.submit_podsets("w1", "data", PodSet("main", 1, {GPU: 1}), PodSet("side", 1, {}))
    assert cluster.counts["w1"] == {"main": 1, "side": 1}


def test_victims_cover_all_pod_sets() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3), within=PreemptionPolicy.LOWER_PRIORITY))
    for number in range(3):
        cluster.submit(f"low{number}", "data", 1, priority=-10)
    cluster.submit_podsets("w1", "data", PodSet("driver", 1, {GPU: 1}), workers(2), priority=100)
    assert len(cluster.evictions) == 3
    assert set(cluster.running) == {"w1"}


def test_a_resource_nobody_covers_fails_one_pod_set() -> None:
    cluster = Cluster(queue("data", *gpus(h200=3)))
    cluster.submit_podsets("w1", "data", PodSet("main", 1, {GPU: 1}), PodSet("side", 1, {CPU: 1}))
    assert cluster.messages["w1"] == "couldn't assign flavors to pod set side: resource cpu unavailable in ClusterQueue"
