"""Flavors in order, groups of resources, fungibility, and where the search goes on."""

import pytest

from portal.admission import (
    FlavorQuota,
    Fungibility,
    FungibilityPolicy,
    FungibilityPreference,
    PodSet,
    PreemptionPolicy,
    QuotaCell,
    ResourceGroup,
)
from tests.admission.building import CPU, GPU, Cluster, gpus, queue

STOP, NEXT = FungibilityPolicy.MAY_STOP_SEARCH, FungibilityPolicy.TRY_NEXT_FLAVOR


def both(**flavors: tuple[int, int]) -> ResourceGroup:
    """One group with GPUs and CPUs in these flavors."""
    return ResourceGroup(
        (GPU, CPU),
        tuple(FlavorQuota(name, {GPU: QuotaCell(gpu), CPU: QuotaCell(cpu)}) for name, (gpu, cpu) in flavors.items()),
    )


def test_the_first_flavor_with_room_is_taken() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=2)))
    cluster.submit("w1", "data", 1)
    cluster.submit("w2", "data", 2)
    assert cluster.running == {"w1": {GPU: "h200"}, "w2": {GPU: "h100"}}


def test_all_flavors_are_named_when_none_has_room() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=2)))
    cluster.submit("running", "data", 1)
    cluster.submit("large", "data", 2)
    cluster.submit("w1", "data", 2)
    assert cluster.messages["w1"] == (
        "couldn't assign flavors to pod set main: "
        "insufficient quota for nvidia.com/gpu in flavor h200, previously considered podsets requests (0) + current "
        "podset request (2) > maximum capacity (1), "
        "insufficient unused quota for nvidia.com/gpu in flavor h100, 2 more needed"
    )


def test_all_resources_of_a_group_get_the_same_flavor() -> None:
    cluster = Cluster(queue("data", both(h200=(2, 1), h100=(2, 8))))
    cluster.submit("w1", "data", {GPU: 1, CPU: 4})
    assert cluster.running == {"w1": {GPU: "h100", CPU: "h100"}}


def test_groups_get_their_flavors_independently() -> None:
    cluster = Cluster(
        queue("data", *gpus(h200=1, h100=1), ResourceGroup((CPU,), (FlavorQuota("pool", {CPU: QuotaCell(8)}),)))
    )
    cluster.submit("w1", "data", {GPU: 1, CPU: 4})
    cluster.submit("w2", "data", {GPU: 1, CPU: 4})
    assert cluster.running == {"w1": {GPU: "h200", CPU: "pool"}, "w2": {GPU: "h100", CPU: "pool"}}


def test_cpu_can_be_what_is_missing() -> None:
    cluster = Cluster(queue("data", *gpus(h200=4), ResourceGroup((CPU,), (FlavorQuota("pool", {CPU: QuotaCell(8)}),))))
    cluster.submit("w1", "data", {GPU: 1, CPU: 6})
    cluster.submit("w2", "data", {GPU: 1, CPU: 6})
    assert cluster.messages["w2"] == (
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor pool, 4 more needed"
    )


def test_pods_that_select_nodes_get_only_flavors_that_match() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=1)))
    cluster.submit_podsets("w1", "data", PodSet("main", 1, {GPU: 1}, flavors_allowed=frozenset({"h100"})))
    assert cluster.running == {"w1": {GPU: "h100"}}


def test_pods_that_no_flavor_matches_say_so() -> None:
    cluster = Cluster(queue("data", *gpus(h200=1, h100=1)))
    cluster.submit_podsets("w1", "data", PodSet("main", 1, {GPU: 1}, flavors_allowed=frozenset()))
    assert cluster.messages["w1"] == (
        "couldn't assign flavors to pod set main: "
        "flavor h100 doesn't match node affinity, flavor h200 doesn't match node affinity"
    )


@pytest.mark.parametrize(("when_can_borrow", "flavor"), [(STOP, "h200"), (NEXT, "h100")])
def test_borrowing_in_the_first_flavor_or_own_quota_in_the_next(
    when_can_borrow: FungibilityPolicy, flavor: str
) -> None:
    fungibility = Fungibility(when_can_borrow=when_can_borrow)
    cluster = Cluster(
        queue("a", *gpus(h200=0, h100=1), cohort="lab", fungibility=fungibility),
        queue("b", *gpus(h200=2, h100=0), cohort="lab"),
    )
    cluster.submit("w1", "a", 1)
    assert cluster.running == {"w1": {GPU: flavor}}


@pytest.mark.parametrize(("when_can_preempt", "flavor"), [(NEXT, "h100"), (STOP, "h200")])
def test_evicting_in_the_first_flavor_or_room_in_the_next(when_can_preempt: FungibilityPolicy, flavor: str) -> None:
    fungibility = Fungibility(when_can_preempt=when_can_preempt)
    within = PreemptionPolicy.LOWER_PRIORITY
    cluster = Cluster(queue("data", *gpus(h200=1, h100=1), within=within, fungibility=fungibility))
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    assert cluster.running["high"] == {GPU: flavor}
    assert cluster.running["low"] == {GPU: "h100" if flavor == "h200" else "h200"}


def test_a_victim_finds_another_flavor_at_once() -> None:
    fungibility = Fungibility(when_can_preempt=STOP)
    cluster = Cluster(
        queue("data", *gpus(h200=1, h100=1), within=PreemptionPolicy.LOWER_PRIORITY, fungibility=fungibility)
    )
    cluster.submit("low", "data", 1, priority=-10)
    cluster.submit("high", "data", 1, priority=100)
    assert cluster.evictions == [("low", "InClusterQueue", "high")]
    assert cluster.running == {"high": {GPU: "h200"}, "low": {GPU: "h100"}}


def preferring(preference: FungibilityPreference) -> Cluster:
    """A queue that could borrow in its first flavor or evict within its own quota in the second."""
    fungibility = Fungibility(NEXT, NEXT, preference)
    cluster = Cluster(
        queue(
            "a", *gpus(h200=0, h100=1), cohort="lab", within=PreemptionPolicy.LOWER_PRIORITY, fungibility=fungibility
        ),
        queue("b", *gpus(h200=1, h100=0), cohort="lab"),
    )
    cluster.submit("low", "a", 1, priority=-10)
    cluster.submit("high", "a", 1, priority=100)
    return cluster


def test_borrowing_is_preferred_to_evicting_by_default() -> None:
    cluster = preferring(FungibilityPreference.BORROWING_OVER_PREEMPTION)
    assert cluster.evictions == []
    assert cluster.running == {"low": {GPU: "h100"}, "high": {GPU: "h200"}}


def test_evicting_can_be_preferred_to_borrowing() -> None:
    cluster = preferring(FungibilityPreference.PREEMPTION_OVER_BORROWING)
    assert cluster.evictions == [("low", "InClusterQueue", "high")]
    assert cluster.running == {"low": {GPU: "h200"}, "high": {GPU: "h100"}}


def test_taking_back_from_others_is_preferred_to_evicting_in_the_own_queue() -> None:
    cluster = Cluster(
        queue(
            "a",
            *gpus(h200=1, h100=1),
            cohort="lab",
            within=PreemptionPolicy.LOWER_PRIORITY,
            reclaim=PreemptionPolicy.ANY,
        ),
        queue("b", *gpus(h100=0), cohort="lab"),
    )
    cluster.submit("own-low", "a", 1, priority=-10)
    cluster.submit("borrowed", "b", 1, priority=100)
    cluster.submit("high", "a", 1, priority=100)
    assert cluster.evictions == [("borrowed", "InCohortReclamation", "high")]
    assert cluster.running["high"] == {GPU: "h100"}


def test_who_lost_a_flavor_within_a_cycle_goes_on_with_the_next() -> None:
    cluster = Cluster(queue("a", *gpus(h200=0, h100=1), cohort="lab"), queue("b", *gpus(h200=1, h100=0), cohort="lab"))
    cluster.submit("older", "b", 1, settle=False)
    cluster.submit("younger", "a", 1, settle=False)
    cluster.settle()
    assert cluster.running == {"older": {GPU: "h200"}, "younger": {GPU: "h100"}}
