"""The administrator edits the catalogue in Django's admin: every save is a service's, every refusal is at its field."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import Client

from portal.audit.models import AuditEvent
from portal.kernel.actors import Person
from portal.kernel.models import Work
from quotas.models import Cohort, Flavor, Image, PriorityClass, Quota
from tenants.admin import ServiceAdmin
from tenants.models import Membership, Tenant, Token, User
from tests.factories import tenants as people
from tests.factories.quotas import Lab

OURS = ("tenants", "quotas", "cluster")


@pytest.fixture
def desk(administrator: Person) -> Client:
    return people.signed_in(administrator)


def registered() -> list[Any]:
    return [(model, site) for model, site in admin.site._registry.items() if model._meta.app_label in OURS]


def path(model: Any, what: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{what}"


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "the form is shown again"
    found: dict[str, list[str]] = response.context["adminform"].form.errors
    return found


def test_every_model_of_ours_is_edited_through_services() -> None:
    assert len(registered()) == 15
    assert all(isinstance(site, ServiceAdmin) for _, site in registered())


@pytest.mark.parametrize("who", ["manager", "owner", "viewer"])
def test_nobody_else_gets_in(who: str, request: pytest.FixtureRequest) -> None:
    desk = people.signed_in(request.getfixturevalue(who))
    for model, _ in registered():
        assert desk.get(path(model)).status_code == 302
        assert desk.get(path(model, "add/")).status_code == 302


def test_staff_without_being_administrator_sees_nothing(db: None) -> None:
    row = people.user("staff")
    User.objects.filter(pk=row.pk).update(is_staff=True)
    desk = people.signed_in(people.person(row))
    for model, _ in registered():
        assert desk.get(path(model)).status_code == 403


def test_every_page_of_the_admin_opens(desk: Client, room: Lab, team: Tenant, owner: Person) -> None:
    people.token(user_id=owner.id)
    for model, site in registered():
        assert desk.get(path(model)).status_code == 200
        if site.may_add:
            assert desk.get(path(model, "add/")).status_code == 200
        row = model._default_manager.first()
        if row is not None:
            assert desk.get(path(model, f"{row.pk}/change/")).status_code == 200


FLAVOR = {
    "name": "a100",
    "mode": "whole",
    "card": "a100-80",
    "resource": "nvidia.com/gpu",
    "memory_mib": "81920",
    "max_per_node": "4",
    "node_labels": '{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}',
    "tolerations": "[]",
    "active": "on",
}


def test_a_flavor_is_added_audited_and_woken(desk: Client, lab: Lab) -> None:
    response = desk.post(path(Flavor, "add/"), {**FLAVOR, "cluster": str(lab.cluster.pk)})
    assert response.status_code == 302
    row = Flavor.objects.get(name="a100")
    event = AuditEvent.objects.get()
    assert (event.verb, event.actor_label, event.target_id) == ("flavor.created", "ada", str(row.pk))
    assert Work.objects.filter(kind="flavor", object_id=row.pk).exists()


def test_what_the_service_refuses_is_shown_at_its_field_with_what_was_typed(desk: Client, lab: Lab) -> None:
    response = desk.post(
        path(Flavor, "add/"), {**FLAVOR, "cluster": str(lab.cluster.pk), "node_labels": '{"other": "x"}'}
    )
    assert list(errors(response)) == ["node_labels"]
    assert response.context["adminform"].form["card"].value() == "a100-80"
    assert not Flavor.objects.filter(name="a100").exists()


def test_what_names_a_row_is_typed_only_once(desk: Client, lab: Lab) -> None:
    changed = {**FLAVOR, "name": "other", "resource": "nvidia.com/other", "card": "h100-80", "memory_mib": "80000"}
    changed["node_labels"] = '{"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}'
    assert desk.post(path(Flavor, f"{lab.whole.pk}/change/"), changed).status_code == 302
    lab.whole.refresh_from_db()
    assert (lab.whole.name, lab.whole.resource, lab.whole.memory_mib) == ("h100", "nvidia.com/gpu", 80000)


def test_a_flavor_in_use_is_not_deleted_and_says_so(desk: Client, room: Lab) -> None:
    room.whole.refresh_from_db()
    response = desk.post(path(Flavor, f"{room.whole.pk}/delete/"), {"post": "yes"}, follow=True)
    assert Flavor.objects.filter(name="h100", deleting=False).exists()
    assert response.status_code == 200


def test_a_cohort_comes_and_goes(desk: Client, lab: Lab) -> None:
    desk.post(path(Cohort, "add/"), {"cluster": str(lab.cluster.pk), "name": "campus", "parent": ""})
    row = Cohort.objects.get(name="campus")
    assert desk.post(path(Cohort, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 302
    row.refresh_from_db()
    assert row.deleting


def test_a_quota_is_put_changed_and_removed(desk: Client, room: Lab, other_team: Tenant) -> None:
    row = Quota.objects.get(flavor=room.whole)
    form = {"nominal": "2", "borrowing_limit": "", "lending_limit": "3"}
    assert list(errors(desk.post(path(Quota, f"{row.pk}/change/"), form))) == ["lending_limit"]
    assert desk.post(path(Quota, f"{row.pk}/change/"), {**form, "lending_limit": "1"}).status_code == 302
    row.refresh_from_db()
    assert (row.nominal, row.borrowing_limit, row.lending_limit) == (2, None, 1)
    assert desk.post(path(Quota, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 302
    assert not Quota.objects.filter(pk=row.pk).exists()
    verbs = list(AuditEvent.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs == ["quota.changed", "quota.deleted"]


def test_a_quota_for_a_team_without_a_space_is_refused_and_not_an_error_page(
    desk: Client, lab: Lab, other_team: Tenant
) -> None:
    form = {"tenant": str(other_team.pk), "flavor": str(lab.whole.pk), "nominal": "1"}
    assert errors(desk.post(path(Quota, "add/"), form))


def test_priorities_and_images_follow_the_same_way(desk: Client, lab: Lab) -> None:
    low = PriorityClass.objects.get(name="low")
    form = {"value": "20", "description": "Later", "managers_only": "", "is_default": ""}
    assert desk.post(path(PriorityClass, f"{low.pk}/change/"), form).status_code == 302
    low.refresh_from_db()
    assert (low.value, low.description) == (20, "Later")
    image = Image.objects.get(name="python")
    assert desk.post(path(Image, f"{image.pk}/delete/"), {"post": "yes"}).status_code == 302
    assert not Image.objects.filter(name="python").exists()


def test_a_team_is_opened_and_suspended(desk: Client, lab: Lab) -> None:
    added = desk.post(path(Tenant, "add/"), {"slug": "robots", "name": "Robots", "cohort": "lab", "state": "active"})
    assert added.status_code == 302
    row = Tenant.objects.get(slug="robots")
    form = {"name": "Robots", "cohort": "lab", "state": "suspended"}
    assert desk.post(path(Tenant, f"{row.pk}/change/"), form).status_code == 302
    row.refresh_from_db()
    assert row.state == "suspended"


def test_the_last_manager_stays_in_the_admin_too(desk: Client, manager: Person) -> None:
    row = Membership.objects.get(user_id=manager.id)
    response = desk.post(path(Membership, f"{row.pk}/delete/"), {"post": "yes"}, follow=True)
    assert "at least one manager" in response.content.decode()
    assert Membership.objects.filter(pk=row.pk).exists()


def test_an_account_is_opened_closed_and_given_a_new_password(desk: Client) -> None:
    form = {"username": "noa", "is_active": "on", "language": "es", "new_password": "short"}
    assert errors(desk.post(path(User, "add/"), form))
    form["new_password"] = "a long enough secret"
    assert desk.post(path(User, "add/"), form).status_code == 302
    row = User.objects.get(username="noa")
    assert row.check_password("a long enough secret")
    form = {"is_active": "", "new_password": "another long secret"}
    assert desk.post(path(User, f"{row.pk}/change/"), form).status_code == 302
    row.refresh_from_db()
    assert (row.is_active, row.check_password("another long secret")) == (False, True)


def test_a_leaked_token_is_ended(desk: Client, owner: Person) -> None:
    row, _ = people.token(user_id=owner.id)
    assert desk.post(path(Token, f"{row.pk}/delete/"), {"post": "yes"}).status_code == 302
    row.refresh_from_db()
    assert row.revoked_at is not None


def test_the_admin_has_no_door_of_its_own(db: None) -> None:
    response = Client().get("/admin/login/?next=/admin/")
    assert response.status_code == 302
    assert response["Location"].startswith("/login/")
