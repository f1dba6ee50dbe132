"""Teams are opened, changed, suspended and archived by administrators; a slug is never used again."""

import pytest

from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Denied, Invalid, NotFound
from portal.kernel.models import FeedEntry, Work
from tenants import selectors, services
from tenants.errors import NameTaken
from tenants.models import Policy, Tenant, TenantSpace
from tests.factories import tenants as people
from tests.factories.cluster import cluster
from tests.factories.quotas import Lab


def test_a_new_team_has_a_policy_and_a_namespace_on_every_cluster(administrator: Person) -> None:
    first, second = cluster("one"), cluster("two", prefix="t-")
    team = services.create_tenant(administrator, slug="vision", name="Visión", cohort="lab")
    spaces = TenantSpace.objects.filter(tenant=team).order_by("cluster__name")
    assert [(space.cluster_id, space.namespace) for space in spaces] == [
        (first.pk, "turno-vision"),
        (second.pk, "t-vision"),
    ]
    assert Policy.objects.filter(tenant=team).count() == 1
    woken = set(Work.objects.values_list("kind", "object_id"))
    assert woken == {(kind, space.pk) for kind in ("tenantspace", "queue") for space in spaces}


def test_opening_leaves_an_audit_row_and_a_feed_entry(administrator: Person) -> None:
    team = services.create_tenant(administrator, slug="vision", name="Vision")
    row = AuditEvent.objects.get()
    assert (row.verb, row.actor_label, row.tenant_slug) == ("tenant.created", "ada", "vision")
    assert row.after == {"slug": "vision", "name": "Vision", "cohort": ""}
    entry = FeedEntry.objects.get()
    assert (entry.scope, entry.type, entry.by_label) == (f"tenant:{team.pk}", "created", "ada")


def test_nothing_is_kept_when_the_audit_row_cannot_be_written(
    administrator: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**row: object) -> None:
        raise RuntimeError("the audit log is full")

    monkeypatch.setattr(AuditEvent.objects, "create", broken)
    with pytest.raises(RuntimeError, match="full"):
        services.create_tenant(administrator, slug="vision", name="Vision")
    assert not Tenant.objects.exists()
    assert not Work.objects.exists()
    assert not FeedEntry.objects.exists()


def test_a_slug_is_taken_for_ever(administrator: Person) -> None:
    services.create_tenant(administrator, slug="vision", name="Vision")
    services.change_tenant(administrator, slug="vision", state="archived")
    with pytest.raises(NameTaken):
        services.create_tenant(administrator, slug="vision", name="Vision again")


@pytest.mark.parametrize("slug", ["", "V", "1a", "-a", "a-", "a" * 41, "a_b", "a b", "a\n", "ñ", None, 5])
def test_a_slug_is_a_dns_label(administrator: Person, slug: object) -> None:
    with pytest.raises(Invalid) as refused:
        services.create_tenant(administrator, slug=slug, name="A team")
    assert [(error.field, error.code) for error in refused.value.errors] == [("slug", "invalid")]


def test_the_longest_slug_fits_every_name_on_the_cluster(administrator: Person) -> None:
    cluster("one", prefix="p" * 19 + "-")
    team = services.create_tenant(administrator, slug="s" * 40, name="Long")
    assert len(TenantSpace.objects.get(tenant=team).namespace) <= 63


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a" * 101, "a\x00", None])
def test_a_name_is_one_line(administrator: Person, name: object) -> None:
    with pytest.raises(Invalid) as refused:
        services.create_tenant(administrator, slug="a", name=name)
    assert [error.field for error in refused.value.errors] == ["name"]


def test_all_faults_are_told_at_once(administrator: Person) -> None:
    with pytest.raises(Invalid) as refused:
        services.create_tenant(administrator, slug="A", name="", cohort="Ñ")
    assert [error.field for error in refused.value.errors] == ["slug", "name", "cohort"]


@pytest.mark.parametrize("who", ["manager", "viewer", "machine", "outsider"])
def test_only_administrators_open_teams(who: str, request: pytest.FixtureRequest) -> None:
    actor: Person | Machine = request.getfixturevalue(who)
    with pytest.raises(Denied):
        services.create_tenant(actor, slug="vision-2", name="Vision")


def test_an_administrators_token_needs_both_scopes(administrator: Person) -> None:
    row = administrator.id
    for scopes in ({"read", "write"}, {"read", "admin"}):
        narrow = Person(id=row, username="ada", is_admin=True, scopes=frozenset(scopes))
        with pytest.raises(Denied):
            services.create_tenant(narrow, slug="vision", name="Vision")


def test_a_change_tells_what_was_before(administrator: Person, team: Tenant) -> None:
    services.change_tenant(administrator, slug="data", name="Data science", cohort="lab")
    row = AuditEvent.objects.get()
    assert (row.verb, row.before, row.after) == ("tenant.changed", {"name": "Data"}, {"name": "Data science"})


def test_a_change_of_state_wakes_namespace_and_queue(administrator: Person, team: Tenant, room: Lab) -> None:
    services.change_tenant(administrator, slug="data", state="suspended")
    space = TenantSpace.objects.get(tenant=team)
    assert set(Work.objects.values_list("kind", "object_id")) == {("tenantspace", space.pk), ("queue", space.pk)}
    assert Tenant.objects.get().state == "suspended"


def test_nothing_changed_writes_nothing(administrator: Person, team: Tenant) -> None:
    services.change_tenant(administrator, slug="data", name="Data", state="active")
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [("state", "gone", "invalid"), ("slug", "other", "unknown_field"), ("cohort", "A!", "invalid")],
)
def test_a_bad_change_is_refused_at_its_field(
    administrator: Person, team: Tenant, field: str, value: str, code: str
) -> None:
    arguments = {"slug": "data", field: value} if field != "slug" else {"slug": "data", "slugs": value}
    with pytest.raises(Invalid) as refused:
        services.change_tenant(administrator, **arguments)
    assert [error.code for error in refused.value.errors] == [code]


def test_a_manager_may_not_change_the_team_and_an_outsider_does_not_find_it(
    manager: Person, outsider: Person, team: Tenant
) -> None:
    with pytest.raises(Denied):
        services.change_tenant(manager, slug="data", name="Mine")
    with pytest.raises(NotFound):
        services.change_tenant(outsider, slug="data", name="Mine")


def test_who_sees_which_teams(
    team: Tenant, other_team: Tenant, owner: Person, machine: Machine, outsider: Person, administrator: Person
) -> None:
    def seen(actor: Person | Machine) -> list[str]:
        return [row.slug for row in selectors.tenants(actor)]

    assert seen(owner) == seen(machine) == ["data"]
    assert seen(outsider) == ["vision"]
    assert seen(administrator) == ["data", "vision"]
    assert selectors.tenant_ids(administrator) == []


def test_a_person_without_a_team_sees_nothing(team: Tenant, manager: Person) -> None:
    nobody = people.person(people.user("noa"))
    assert list(selectors.tenants(nobody)) == []
    assert selectors.memberships(nobody) == []
    assert list(selectors.tokens(nobody)) == []
    assert list(selectors.audit(nobody)) == []
    with pytest.raises(NotFound):
        selectors.tenant(nobody, "data")


@pytest.mark.parametrize("slug", ["", "DATA", "data\0", "da" + "t" * 5000, "datá"])
def test_what_cannot_be_a_slug_is_not_found(administrator: Person, team: Tenant, slug: str) -> None:
    with pytest.raises(NotFound):
        selectors.tenant(administrator, slug)
    assert selectors.by_slug(slug) is None
