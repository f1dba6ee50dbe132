"""A page or an answer makes a fixed number of queries, whatever there is to show."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Workload
from portal.kernel import feed
from portal.kernel.actors import Person
from portal.kernel.transaction import transaction
from tenants.models import Tenant
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab, image

pytestmark = pytest.mark.django_db
# With the session and its person, or the token, included.
PAGES = {
    "/workloads/": 7,
    "/workloads/table/": 7,
    "/workloads/{id}/": 30,
    "/workloads/{id}/live/": 20,
    "/teams/data/": 23,
    "/queue/": 25,
    "/tokens/": 6,
    "/new/notebook/": 14,
    "/new/training/": 14,
    "/new/endpoint/": 14,
}
ANSWERS = {
    "/me/": 2,
    "/workloads/": 3,
    "/workloads/?tenant=data&state=submitted&q=m": 3,
    "/training-jobs/": 3,
    "/training-jobs/{id}/": 4,
    "/training-jobs/{id}/runs/": 10,
    "/training-jobs/{id}/events/": 8,
    "/training-jobs/{id}/explain/": 8,
    "/training-jobs/{id}/manifests/": 8,
    "/queue/": 20,
    "/flavors/": 6,
    "/images/": 2,
    "/tenants/": 3,
    "/tenants/data/members/": 5,
    "/tenants/data/quota/": 9,
    "/tenants/data/policy/": 5,
    "/tokens/": 4,
    "/audit/?tenant=data": 6,
}


@pytest.fixture
def first(manager: Person, room: Lab) -> Workload:
    jobs.with_gateway(room.cluster)
    return jobs.submitted(manager, name="first")


def fill(first: Workload, manager: Person, team: Tenant) -> None:
    """A dozen of everything that is listed."""
    for number in range(12):
        jobs.submitted(manager, name=f"more-{number}")
        people.member(team, f"person-{number}")
        people.token(user_id=manager.id, name=f"t{number}")
        image(f"image-{number}", "training")
        with transaction():
            feed.append(
                scope=feed.tenant_scope(team.pk), topic="workload", object_id=first.pk, type="Pulled", source="pod"
            )


def queries(client: Client, path: str, headers: dict[str, str]) -> int:
    with CaptureQueriesContext(connection) as made:
        answer = client.get(path, headers=headers)
    assert answer.status_code == 200, answer.content[:300]
    return len(made)


@pytest.mark.parametrize("path", [*PAGES, *(f"/api/v1{path}" for path in ANSWERS)])
def test_a_dozen_of_everything_costs_what_one_does(first: Workload, manager: Person, team: Tenant, path: str) -> None:
    over_rest = path.startswith("/api/v1")
    client, headers = (Client(), people.bearer(manager)) if over_rest else (people.signed_in(manager), {})
    path = path.replace("{id}", str(first.pk))
    queries(client, path, headers)  # a token notes its use once a minute
    few = queries(client, path, headers)
    fill(first, manager, team)
    assert queries(client, path, headers) == few


@pytest.mark.parametrize(
    ("path", "most"), [*PAGES.items(), *((f"/api/v1{path}", most) for path, most in ANSWERS.items())]
)
def test_it_is_a_small_number(first: Workload, manager: Person, path: str, most: int) -> None:
    over_rest = path.startswith("/api/v1")
    client, headers = (Client(), people.bearer(manager)) if over_rest else (people.signed_in(manager), {})
    path = path.replace("{id}", str(first.pk))
    queries(client, path, headers)
    assert queries(client, path, headers) <= most
