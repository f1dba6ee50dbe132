"""The cast of every test: one team with everybody in it, a person outside of it, and the cluster they use."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.utils import timezone, translation
from pytest_django.plugin import DjangoDbBlocker

from portal.cluster.models import Cluster
from portal.kernel import clock
from portal.kernel.actors import Machine, Person
from portal.kernel.models import Work
from quotas.models import Flavor
from tenants.models import Tenant
from tenants.roles import Role
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people


def pytest_configure() -> None:
    """Passwords of the suite need not withstand anybody: the real hasher takes most of a second each."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Tests name their clusters themselves: the one of the first migration would be in the way of some and, since
    others empty every table, missing in the rest."""
    with django_db_blocker.unblock():
        Work.objects.all().delete()
        Flavor.objects.all().delete()
        Cluster.objects.all().delete()


class FrozenClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def move(self, *, seconds: float = 0, **parts: float) -> datetime:
        """Forward by a timedelta's parts (`minutes=`, `hours=`, `days=`); the new time."""
        self.at += timedelta(seconds=seconds, **parts)
        return self.at


@pytest.fixture(autouse=True)
def no_reader() -> Iterator[None]:
    """Each test begins without the language and zone of the last request of the test before it."""
    translation.deactivate()
    timezone.deactivate()
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture
def frozen() -> Iterator[FrozenClock]:
    """Turno's clock, standing at 2026-12-01 09:00 UTC. Leases are judged by the database's own clock, not by this."""
    held = FrozenClock(datetime(2026, 12, 1, 9, tzinfo=UTC))
    clock.set_source(held)
    yield held
    clock.set_source(None)


@pytest.fixture
def team(db: None) -> Tenant:
    """The team `data` of cohort `lab`: owner, teammate, manager, viewer and machine belong to it."""
    return people.tenant("data", name="Data", cohort="lab")


@pytest.fixture
def other_team(db: None) -> Tenant:
    """The outsider's team, in the same cohort."""
    return people.tenant("vision", name="Vision", cohort="lab")


@pytest.fixture
def owner(team: Tenant) -> Person:
    """A member: whoever a test's workloads belong to."""
    return people.member(team, "olga", Role.MEMBER)


@pytest.fixture
def teammate(team: Tenant) -> Person:
    """Another member."""
    return people.member(team, "tomas", Role.MEMBER)


@pytest.fixture
def manager(team: Tenant) -> Person:
    return people.member(team, "mara", Role.MANAGER)


@pytest.fixture
def viewer(team: Tenant) -> Person:
    return people.member(team, "vera", Role.VIEWER)


@pytest.fixture
def machine(team: Tenant) -> Machine:
    """The team's CI: a member by token, with scopes read and write."""
    return people.machine(team)


@pytest.fixture
def outsider(other_team: Tenant) -> Person:
    """A manager of another team: may see nothing of `team`."""
    return people.member(other_team, "otto", Role.MANAGER)


@pytest.fixture
def administrator(db: None) -> Person:
    """The platform's administrator, with no role in any team."""
    return people.person(people.user("ada", admin=True))


@pytest.fixture
def lab(db: None) -> quota_rows.Lab:
    """The four-card server with flavors, cohort, priorities and images; no team has room yet (see `room`)."""
    return quota_rows.lab()


@pytest.fixture
def room(team: Tenant, lab: quota_rows.Lab) -> quota_rows.Lab:
    """The lab, in which the team owns one whole card and two slices and cannot borrow."""
    quota_rows.room_for(team, lab)
    return lab
