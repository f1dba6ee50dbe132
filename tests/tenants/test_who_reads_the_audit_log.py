"""The audit log: everything for administrators, the team's for its managers, nothing for anybody else."""

from __future__ import annotations

import pytest

from portal.kernel.actors import Person
from portal.kernel.errors import NotFound
from tenants import selectors, services
from tenants.models import Tenant
from tests.factories import tenants as people


@pytest.fixture
def history(administrator: Person, manager: Person, outsider: Person) -> None:
    """One entry of the platform, one of each team."""
    services.create_user(administrator, username="noa", password="a long enough secret")
    services.add_member(manager, slug="data", username="noa", role="viewer")
    services.add_member(outsider, slug="vision", username="noa", role="viewer")


def seen(actor: Person, slug: str | None = None) -> list[tuple[str, str]]:
    return [(row.verb, row.tenant_slug) for row in selectors.audit(actor, slug)]


def test_newest_first_and_everything_for_an_administrator(history: None, administrator: Person) -> None:
    assert seen(administrator) == [
        ("tenant.member_added", "vision"),
        ("tenant.member_added", "data"),
        ("user.created", ""),
    ]
    assert seen(administrator, "data") == [("tenant.member_added", "data")]


def test_a_manager_reads_the_own_teams(history: None, manager: Person, outsider: Person) -> None:
    assert seen(manager) == seen(manager, "data") == [("tenant.member_added", "data")]
    assert seen(outsider) == [("tenant.member_added", "vision")]


def test_members_and_outsiders_read_nothing(history: None, owner: Person, viewer: Person, outsider: Person) -> None:
    for actor in (owner, viewer):
        assert seen(actor) == []
        with pytest.raises(NotFound):
            seen(actor, "data")
    with pytest.raises(NotFound):
        seen(outsider, "data")


def test_an_administrators_narrow_token_reads_nothing(history: None, administrator: Person, team: Tenant) -> None:
    narrow = Person(id=administrator.id, username="ada", is_admin=True, scopes=frozenset({"read"}))
    assert seen(narrow) == []


def test_a_person_without_a_team_reads_nothing(history: None) -> None:
    assert seen(people.person(people.user("lone"))) == []
