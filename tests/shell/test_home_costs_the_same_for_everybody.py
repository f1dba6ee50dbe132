"""Home makes a fixed number of queries, whatever the person's teams and their work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from portal.kernel.actors import Person
from tenants.models import Membership, Tenant, User
from tenants.roles import Role
from tests.factories import jobs
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
MOST = 12  # the session and its person included


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as made:
        assert client.get(path).status_code == 200
    return len(made)


@pytest.fixture
def more_teams(owner: Person, room: Lab) -> Callable[[int], None]:
    """Gives the owner further teams, each with its own quota in the lab."""

    def give(count: int) -> None:
        for number in range(count):
            team = people.tenant(f"team-{number}", cohort="lab")
            Membership.objects.create(tenant=team, user=User.objects.get(pk=owner.id), role=Role.MEMBER)
            quota_rows.room_for(team, room)

    return give


@pytest.mark.parametrize("path", ["/", "/home/live/"])
def test_four_teams_and_fifty_workloads_cost_what_one_of_each_does(
    owner: Person, room: Lab, more_teams: Callable[[int], None], path: str
) -> None:
    client = people.signed_in(owner)
    jobs.submitted(owner)
    one = queries(client, path)
    more_teams(3)
    for number in range(49):
        jobs.submitted(owner, name=f"more-{number}")
    assert queries(client, path) == one
    assert one <= MOST


def test_every_team_is_shown_with_its_own_quota(
    owner: Person, team: Tenant, room: Lab, more_teams: Callable[[int], None]
) -> None:
    more_teams(2)
    page = people.signed_in(owner).get("/").content.decode()
    for slug in ("data", "team-0", "team-1"):
        assert f"/teams/{slug}/" in page
