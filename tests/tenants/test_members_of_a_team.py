"""Managers decide who is in a team; a lost role counts at once; the last manager cannot go."""

import threading
from collections.abc import Callable

import pytest
from django.db import connections

from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Conflict, Denied, Invalid, NotFound
from tenants import policies, selectors, services
from tenants.errors import LastManager, NameTaken, ScopeMissing
from tenants.models import Membership, Tenant, User
from tenants.roles import Permission, Role
from tests.factories import tenants as people


def roles(team: Tenant) -> dict[str, str]:
    return dict(Membership.objects.filter(tenant=team).values_list("user__username", "role"))


def test_a_manager_takes_somebody_in(manager: Person, team: Tenant) -> None:
    people.user("noa")
    row = services.add_member(manager, slug="data", username="noa", role="viewer")
    assert (row.user.username, row.role) == ("noa", "viewer")
    event = AuditEvent.objects.get()
    assert (event.verb, event.after) == ("tenant.member_added", {"username": "noa", "role": "viewer"})


def test_an_administrator_gives_a_new_team_its_first_manager(administrator: Person, team: Tenant) -> None:
    people.user("noa")
    services.add_member(administrator, slug="data", username="noa", role="manager")
    assert roles(team) == {"noa": "manager"}


def test_taking_in_twice_is_refused(manager: Person, owner: Person) -> None:
    with pytest.raises(NameTaken) as refused:
        services.add_member(manager, slug="data", username="olga", role="viewer")
    assert refused.value.code == "already_member"


@pytest.mark.parametrize(("username", "role"), [("nobody", "boss"), ("", ""), ("\x00", "MANAGER"), ("closed", "x")])
def test_unknown_people_and_roles_are_refused_at_their_fields(manager: Person, username: str, role: str) -> None:
    people.user("closed")
    User.objects.filter(username="closed").update(is_active=False)
    with pytest.raises(Invalid) as refused:
        services.add_member(manager, slug="data", username=username, role=role)
    assert [error.field for error in refused.value.errors] == ["username", "role"]


@pytest.mark.parametrize("who", ["owner", "viewer", "machine"])
def test_others_of_the_team_may_not(
    who: str, teammate: Person, manager: Person, request: pytest.FixtureRequest
) -> None:
    actor: Person | Machine = request.getfixturevalue(who)
    people.user("noa")
    commands: list[Callable[[], object]] = [
        lambda: services.add_member(actor, slug="data", username="noa", role="viewer"),
        lambda: services.change_role(actor, slug="data", username="tomas", role="viewer"),
        lambda: services.remove_member(actor, slug="data", username="tomas"),
    ]
    for command in commands:
        with pytest.raises(Denied):
            command()


def test_an_outsider_does_not_even_find_the_team(outsider: Person, owner: Person) -> None:
    with pytest.raises(NotFound):
        services.add_member(outsider, slug="data", username="otto", role="manager")
    with pytest.raises(NotFound):
        services.change_role(outsider, slug="data", username="olga", role="viewer")
    with pytest.raises(NotFound):
        services.remove_member(outsider, slug="data", username="olga")
    with pytest.raises(NotFound):
        selectors.members(outsider, "data")


def test_a_reading_token_changes_nothing(manager: Person, owner: Person) -> None:
    reading = Person(id=manager.id, username="mara", scopes=frozenset({"read"}))
    with pytest.raises(ScopeMissing):
        services.remove_member(reading, slug="data", username="olga")


def test_a_role_changes_at_once(manager: Person, owner: Person, team: Tenant) -> None:
    services.change_role(manager, slug="data", username="olga", role="viewer")
    assert not policies.can(owner, Permission.SUBMIT, team.pk)
    assert policies.can(owner, Permission.READ, team.pk)
    event = AuditEvent.objects.get()
    assert (event.before, event.after) == (
        {"username": "olga", "role": "member"},
        {"username": "olga", "role": "viewer"},
    )


def test_a_removed_member_sees_nothing_any_more(manager: Person, owner: Person, team: Tenant) -> None:
    services.remove_member(manager, slug="data", username="olga")
    assert selectors.tenant_ids(owner) == []
    assert policies.role_of(owner, team.pk) is None
    with pytest.raises(NotFound):
        selectors.tenant(owner, "data")


def test_the_teams_machines_outlive_whoever_made_them(manager: Person, machine: Machine, team: Tenant) -> None:
    people.member(team, "second", Role.MANAGER)
    services.remove_member(manager, slug="data", username="mara")
    assert policies.can(machine, Permission.SUBMIT, team.pk)


def test_people_may_leave_by_themselves(owner: Person, manager: Person, team: Tenant) -> None:
    services.remove_member(owner, slug="data", username="olga")
    assert roles(team) == {"mara": "manager"}


def test_the_last_manager_cannot_go(manager: Person, owner: Person, administrator: Person, team: Tenant) -> None:
    for actor in (manager, administrator):
        with pytest.raises(LastManager):
            services.remove_member(actor, slug="data", username="mara")
        with pytest.raises(LastManager):
            services.change_role(actor, slug="data", username="mara", role="member")
    assert roles(team)["mara"] == "manager"


def test_of_two_managers_one_can_go(manager: Person, team: Tenant) -> None:
    people.member(team, "second", Role.MANAGER)
    services.remove_member(manager, slug="data", username="mara")
    assert roles(team) == {"second": "manager"}


def test_a_person_who_is_not_in_the_team_is_not_found(manager: Person, outsider: Person) -> None:
    with pytest.raises(NotFound):
        services.remove_member(manager, slug="data", username="otto")


@pytest.mark.django_db(transaction=True)
@pytest.mark.services
def test_two_managers_who_remove_each_other_leave_one() -> None:
    team = people.tenant("pair")
    pair = [people.member(team, name, Role.MANAGER) for name in ("ana", "bea")]
    start = threading.Barrier(2)
    outcomes: list[object] = []

    def remove(actor: Person, username: str) -> None:
        try:
            start.wait()
            outcomes.append(services.remove_member(actor, slug="pair", username=username))
        except (Conflict, NotFound, Denied) as refused:
            outcomes.append(refused)
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=remove, args=(pair[0], "bea")),
        threading.Thread(target=remove, args=(pair[1], "ana")),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(roles(team).values()) == ["manager"]
    assert outcomes.count(None) == 1


def test_members_are_listed_with_one_query_more_than_finding_the_team(
    manager: Person, owner: Person, django_assert_num_queries: Callable[[int], object]
) -> None:
    with django_assert_num_queries(3):
        assert [row.user.username for row in selectors.members(manager, "data")] == ["mara", "olga"]
