"""A team's policy: changed by its managers and administrators, judged field by field, told in the audit log."""

from __future__ import annotations

import pytest

from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Denied, Invalid, NotFound
from portal.kernel.models import Work
from tenants import selectors, services
from tenants.models import Policy, Tenant
from tests.factories.quotas import Lab


def change(actor: Person | Machine, **changes: object) -> Policy:
    return services.change_policy(actor, slug="data", changes=changes)


def test_a_manager_changes_what_is_named_and_nothing_else(manager: Person, team: Tenant) -> None:
    change(manager, max_live=3, longest_max_duration=3600)
    row = change(manager, max_live=None)
    assert (row.max_live, row.longest_max_duration, row.egress) == (None, 3600, "internet")
    event = AuditEvent.objects.order_by("-pk").first()
    assert event is not None
    assert (event.verb, event.before, event.after) == ("tenant.policy_changed", {"max_live": 3}, {"max_live": None})


def test_nothing_changed_writes_nothing(manager: Person, team: Tenant) -> None:
    change(manager, max_live=None, egress="internet")
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"max_live": -1}, ["max_live"]),
        ({"max_live": True}, ["max_live"]),
        ({"max_live": "3"}, ["max_live"]),
        ({"default_max_duration": 59}, ["default_max_duration"]),
        ({"longest_max_duration": 366 * 86400 + 1}, ["longest_max_duration"]),
        ({"idle_timeout": 60.0}, ["idle_timeout"]),
        ({"egress": "some"}, ["egress"]),
        ({"egress": None}, ["egress"]),
        ({"colour": "red"}, ["colour"]),
        ({"images": "a"}, ["images"]),
        ({"images": ["a"] * 201}, ["images"]),
        ({"images": ["pytorch", "A", 5]}, ["images.1", "images.2"]),
        ({"default_max_duration": 7200, "longest_max_duration": 3600}, ["default_max_duration"]),
        ({"egress": "x", "max_live": -1}, ["max_live", "egress"]),
    ],
)
def test_a_bad_policy_is_refused_at_its_fields(
    manager: Person, team: Tenant, changes: dict[str, object], fields: list[str]
) -> None:
    with pytest.raises(Invalid) as refused:
        change(manager, **changes)
    assert [error.field for error in refused.value.errors] == fields


@pytest.mark.parametrize(
    "image", ["pytorch", "registry.example:5000/ml/", "registry.example/", "localhost/a/", "ghcr.io/a-b/c.d/"]
)
def test_a_catalogue_name_or_a_registry_path_may_be_allowed(manager: Person, team: Tenant, image: str) -> None:
    assert change(manager, images=[image]).images == [image]


@pytest.mark.parametrize(
    "image",
    ["registry.example:5000/ml", "registry.example:5000/ML/", "REGISTRY.example/ml/", "user@registry.example/ml/",
     "[::1]:5000/ml/", "ml/train/", "registry.example:0/ml/", "registry.example:5000:5000/", "registry.example//",
     "https://registry.example/", "registry.example/ml/:v1", "registry.example/../", "", " pytorch", "a" * 41],
)  # fmt: skip
def test_what_could_match_another_registry_is_refused(manager: Person, team: Tenant, image: str) -> None:
    with pytest.raises(Invalid) as refused:
        change(manager, images=[image])
    assert [error.field for error in refused.value.errors] == ["images.0"]


@pytest.mark.parametrize("who", ["owner", "viewer", "machine"])
def test_others_of_the_team_read_it_only(who: str, team: Tenant, request: pytest.FixtureRequest) -> None:
    actor = request.getfixturevalue(who)
    assert selectors.policy(actor, "data").egress == "internet"
    with pytest.raises(Denied):
        change(actor, max_live=1)


def test_an_outsider_does_not_find_it(outsider: Person, team: Tenant) -> None:
    with pytest.raises(NotFound):
        selectors.policy(outsider, "data")
    with pytest.raises(NotFound):
        change(outsider, max_live=1)


def test_the_way_out_wakes_the_namespace_and_the_rest_does_not(manager: Person, team: Tenant, room: Lab) -> None:
    change(manager, max_live=5)
    assert not Work.objects.exists()
    change(manager, egress="none")
    assert Work.objects.filter(kind="tenantspace").exists()
