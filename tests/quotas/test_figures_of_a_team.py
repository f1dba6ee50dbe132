"""What a team owns, holds, borrows and lends; what is free; the most it could hold. All from rows and the mirror."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from portal.kernel.actors import Person
from portal.kernel.errors import NotFound
from quotas import selectors
from quotas.models import Quota
from tenants.models import Tenant, TenantSpace
from tests.conftest import FrozenClock
from tests.factories import tenants as people
from tests.factories.cluster import admitted, node, synced
from tests.factories.quotas import H100, Lab, quota, room_for

GPU, SLICE = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
SERVER = {GPU: "3", SLICE: "4", "nvidia.com/mig-3g.40gb": "1", "cpu": "64"}


def row(actor: Person, slug: str, flavor: str) -> dict[str, object]:
    return next(cell for cell in selectors.tenant_quota(actor, slug) if cell["flavor"] == flavor)


def free(actor: Person) -> dict[str, tuple[int | None, int | None]]:
    return {view.name: (view.capacity, view.free) for view in selectors.flavors(actor)}


def test_nothing_is_claimed_before_the_mirror_has_synced(room: Lab, owner: Person) -> None:
    node(room.cluster, "gpu-1", SERVER, labels=H100)
    assert free(owner) == dict.fromkeys(("cpu", "h100", "h100-1g", "h100-3g"), (None, None))
    cell = row(owner, "data", "h100")
    assert (cell["nominal"], cell["held"], cell["borrowed"], cell["lent"], cell["as_of"]) == (1, None, None, None, None)


def test_capacity_is_known_before_what_is_held(room: Lab, owner: Person) -> None:
    node(room.cluster, "gpu-1", SERVER, labels=H100)
    synced(room.cluster, "Node")
    assert free(owner)["h100"] == (3, None)


def test_free_is_capacity_less_what_anybody_holds(room: Lab, owner: Person, frozen: FrozenClock) -> None:
    node(room.cluster, "gpu-1", SERVER, labels=H100)
    synced(room.cluster, "Node", "Workload")
    admitted(room.cluster, "turno-data", "turno-h100", GPU, 1)
    admitted(room.cluster, "somebody-else", "turno-h100", GPU, 1)
    admitted(room.cluster, "turno-data", "turno-h100-1g", SLICE, 2)
    admitted(room.cluster, "turno-data", "turno-h100", GPU, 1, finished=True)
    assert free(owner) == {"cpu": (None, None), "h100": (3, 1), "h100-1g": (4, 2), "h100-3g": (1, 1)}
    assert selectors.flavor_view(owner, "h100").as_of == frozen.at


def test_free_is_never_negative(room: Lab, owner: Person) -> None:
    synced(room.cluster, "Node", "Workload")
    admitted(room.cluster, "turno-data", "turno-h100", GPU, 2)
    assert free(owner)["h100"] == (0, 0)


@pytest.mark.parametrize(
    ("labels", "ready", "unschedulable"), [({}, True, False), (H100, False, False), (H100, True, True)]
)
def test_only_ready_schedulable_nodes_with_the_flavors_labels_count(
    room: Lab,
    owner: Person,
    labels: dict[str, str],
    ready: bool,
    unschedulable: bool,
) -> None:
    node(room.cluster, "gpu-1", SERVER, labels=labels, ready=ready, unschedulable=unschedulable)
    synced(room.cluster, "Node", "Workload")
    assert free(owner)["h100"] == (0, 0)


@pytest.mark.parametrize(
    ("ready", "unschedulable", "allocatable", "figures"),
    [
        (True, False, "3", (3, 0)),
        (True, False, "2", (2, 1)),
        (False, False, "3", (0, 3)),
        (True, True, "3", (0, 3)),
    ],
)
def test_what_is_built_in_and_out_of_order_is_counted_apart(
    room: Lab,
    owner: Person,
    ready: bool,
    unschedulable: bool,
    allocatable: str,
    figures: tuple[int, int],
) -> None:
    found = node(room.cluster, "gpu-1", SERVER, labels=H100, ready=ready, unschedulable=unschedulable)
    found.data["status"] |= {"capacity": SERVER, "allocatable": {**SERVER, GPU: allocatable}}
    found.save()
    synced(room.cluster, "Node", "Workload")
    view = selectors.flavor_view(owner, "h100")
    assert (view.capacity, view.unavailable) == figures


def test_a_flavor_says_what_it_is_and_costs_today(room: Lab, owner: Person) -> None:
    view = selectors.flavor_view(owner, "h100")
    assert (view.cluster, view.mode, view.card, view.resource) == ("demo", "whole", "h100-80", GPU)
    assert (view.memory_mib, view.max_per_node, view.price_hour) == (81559, 3, Decimal("2.5"))


def test_a_person_without_a_team_sees_no_flavors(room: Lab) -> None:
    nobody = people.person(people.user("noa"))
    assert selectors.flavors(nobody) == []
    with pytest.raises(NotFound):
        selectors.flavor_view(nobody, "h100")


def test_an_outsider_sees_no_quota_of_the_team(room: Lab, owner: Person, outsider: Person) -> None:
    with pytest.raises(NotFound):
        selectors.tenant_quota(outsider, "data")


def test_slices_and_cards_are_rows_of_their_own_and_nothing_is_shown_as_nothing(room: Lab, owner: Person) -> None:
    cells = [(cell["flavor"], cell["resource"], cell["nominal"]) for cell in selectors.tenant_quota(owner, "data")]
    assert cells == [
        ("h100", GPU, 1),
        ("h100-1g", SLICE, 2),
        ("h100-3g", "nvidia.com/mig-3g.40gb", 0),
    ]


def test_a_flavor_without_quota_is_shown_with_zero(lab: Lab, team: Tenant, owner: Person) -> None:
    TenantSpace.objects.create(tenant=team, cluster=lab.cluster, namespace="turno-data")
    cell = row(owner, "data", "h100")
    assert (cell["nominal"], cell["borrowing_limit"]) == (0, 0)


def test_what_is_held_above_the_own_is_borrowed_from_whoever_is_idle(
    room: Lab, owner: Person, outsider: Person, other_team: Tenant
) -> None:
    room_for(other_team, room, whole=2, slices=0, borrowing=None)
    synced(room.cluster, "Workload")
    admitted(room.cluster, "turno-vision", "turno-h100", GPU, 3)
    theirs, ours = row(outsider, "vision", "h100"), row(owner, "data", "h100")
    assert (theirs["held"], theirs["borrowed"], theirs["lent"]) == (3, 1, 0)
    assert (ours["held"], ours["borrowed"], ours["lent"]) == (0, 0, 1)


def test_a_pod_that_finished_early_gives_its_part_back(room: Lab, owner: Person) -> None:
    synced(room.cluster, "Workload")
    held = admitted(room.cluster, "turno-data", "turno-h100-1g", SLICE, 4)
    held.data["status"]["admission"]["podSetAssignments"][0]["count"] = 4
    held.data["status"]["reclaimablePods"] = [{"name": "main", "count": 3}]
    held.save()
    assert row(owner, "data", "h100-1g")["held"] == 1


def test_odd_data_of_the_cluster_is_skipped(room: Lab, owner: Person) -> None:
    synced(room.cluster, "Node", "Workload")
    node(room.cluster, "odd", {GPU: "many"}, labels=H100)
    for admission in (None, [], {"podSetAssignments": [{"flavors": None}]}, {"podSetAssignments": "x"}):
        bad = admitted(room.cluster, "turno-data", "turno-h100", GPU, 1)
        bad.data["status"]["admission"] = admission
        bad.save()
    assert free(owner)["h100"] == (0, 0)
    assert row(owner, "data", "h100")["held"] == 0


def maximum(team: Tenant, lab: Lab) -> int:
    return selectors.maximum(Tenant.objects.get(pk=team.pk), lab.whole)


def test_the_maximum_without_quota_is_nothing(lab: Lab, team: Tenant) -> None:
    assert maximum(team, lab) == 0


@pytest.mark.parametrize(
    ("own", "borrowing", "others", "lending", "expected"),
    [
        (1, 0, 2, None, 1),
        (1, 1, 2, None, 2),
        (1, None, 2, None, 3),
        (1, None, 2, 1, 2),
        (1, None, 2, 0, 1),
        (0, None, 2, None, 2),
        (1, 5, 2, None, 3),
    ],
)
def test_the_maximum_is_the_own_and_what_others_lend_up_to_the_limit(
    lab: Lab,
    team: Tenant,
    other_team: Tenant,
    own: int,
    borrowing: int | None,
    others: int,
    lending: int | None,
    expected: int,
) -> None:
    quota(team, lab.whole, own, borrowing=borrowing)
    quota(other_team, lab.whole, others, lending=lending)
    assert maximum(team, lab) == expected


def test_a_team_outside_every_cohort_borrows_nothing(lab: Lab, team: Tenant, other_team: Tenant) -> None:
    quota(team, lab.whole, 1, borrowing=None)
    quota(other_team, lab.whole, 2)
    Tenant.objects.filter(pk=team.pk).update(cohort="")
    assert maximum(team, lab) == 1


def test_a_tree_of_cohorts_lends_as_one(lab: Lab, team: Tenant) -> None:
    campus = lab.cohort.__class__.objects.create(cluster=lab.cluster, name="campus")
    lab.cohort.parent = campus
    lab.cohort.save()
    lab.cohort.__class__.objects.create(cluster=lab.cluster, name="cellar", parent=campus)
    lab.cohort.__class__.objects.create(cluster=lab.cluster, name="elsewhere")
    quota(team, lab.whole, 1, borrowing=None)
    quota(people.tenant("near", cohort="cellar"), lab.whole, 2)
    quota(people.tenant("far", cohort="elsewhere"), lab.whole, 4)
    assert maximum(team, lab) == 3


def test_quota_of_other_flavors_is_not_counted(lab: Lab, team: Tenant, other_team: Tenant) -> None:
    quota(team, lab.whole, 1, borrowing=None)
    quota(other_team, lab.slice, 4)
    assert maximum(team, lab) == 1


def test_figures_cost_the_same_with_many_teams_and_workloads(
    room: Lab, owner: Person, django_assert_max_num_queries: Callable[[int], object]
) -> None:
    synced(room.cluster, "Node", "Workload")
    for number in range(5):
        room_for(people.tenant(f"team-{number}", cohort="lab"), room)
        admitted(room.cluster, f"turno-team-{number}", "turno-h100", GPU, 1)
    with django_assert_max_num_queries(13):
        assert len(selectors.tenant_quota(owner, "data")) == 3
    with django_assert_max_num_queries(7):
        assert len(selectors.flavors(owner)) == 4
    assert Quota.objects.count() == 18


@pytest.mark.parametrize("name", ["", "H100", "h100\0", "h" * 5000])
def test_what_cannot_be_a_name_is_not_found(room: Lab, owner: Person, name: str) -> None:
    with pytest.raises(NotFound):
        selectors.flavor_view(owner, name)
    with pytest.raises(NotFound):
        selectors.image(name)
    assert selectors.flavor(name) is None
