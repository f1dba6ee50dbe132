"""While somebody else holds SQLite's only write lock, every write is told to come again; reading goes on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from tests.api.conftest import Rest
from tests.factories import jobs
from tests.factories import tenants as people

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite has one lock for all"),
]
PASSWORD = "a long enough secret"


@pytest.fixture
def things(owner, manager, room) -> dict[str, str]:
    """What the paths name: a workload of each kind, and a token."""
    jobs.with_gateway(room.cluster)
    found = {kind: str(jobs.submitted(owner, kind).pk) for kind in ("notebook", "training", "endpoint")}
    return {**found, "token": str(people.token(user_id=owner.id)[0].pk)}


@pytest.fixture
def locked() -> Iterator[None]:
    """Held by another process for as long as the block lasts; nobody waits for it longer than a moment."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()
    connection.close()


def writes(things: dict[str, str]) -> list[tuple[str, str, dict[str, object] | None]]:
    """Every write of the contract that the team's manager may make."""
    found: list[tuple[str, str, dict[str, object] | None]] = [
        ("POST", "/notebooks/", jobs.request("notebook", name="n")),
        ("POST", "/training-jobs/", jobs.request(name="t")),
        ("POST", "/endpoints/", jobs.request("endpoint", name="e")),
        ("POST", "/tokens/", {"name": "x", "scopes": ["read"], "expires_at": "2027-01-01T00:00:00Z"}),
        ("POST", "/tenants/data/members/", {"username": "otto", "role": "member"}),
        ("PATCH", "/tenants/data/members/olga/", {"role": "viewer"}),
        ("DELETE", "/tenants/data/members/olga/", None),
        ("PATCH", "/tenants/data/policy/", {"max_live": 3}),
        ("POST", f"/endpoints/{things['endpoint']}/key/", None),
    ]
    for kind, plural in (("notebook", "notebooks"), ("training", "training-jobs"), ("endpoint", "endpoints")):
        one = f"/{plural}/{things[kind]}/"
        found += [
            ("PATCH", one, {"description": "changed"}),
            ("POST", f"{one}stop/", None),
            ("DELETE", one, None),
        ]
    return found


@pytest.fixture
def api(rest, manager) -> Rest:
    return rest(manager)


@pytest.fixture
def visitor(manager) -> Client:
    found = people.signed_in(manager)
    found.raise_request_exception = False
    return found


@pytest.fixture
def stranger(db) -> Client:
    people.user("pilar", password=PASSWORD)
    return Client(raise_request_exception=False)


def test_every_write_over_rest_is_503_with_when_to_come_again(api, outsider, things, locked) -> None:
    for method, path, body in writes(things):
        answer = api.call(method, path, body, **{"Idempotency-Key": "k"})
        assert (method, path, answer.status_code) == (method, path, 503)
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.json()["code"] == "unavailable"


def test_reading_goes_on(api, visitor, things, locked) -> None:
    for path in ("/me/", "/workloads/", f"/notebooks/{things['notebook']}/", "/tenants/data/quota/", "/flavors/"):
        assert api.get(path).status_code == 200
    for path in ("/", "/workloads/", "/teams/data/", "/new/notebook/", f"/workloads/{things['training']}/"):
        assert visitor.get(path).status_code == 200


def test_every_write_of_a_page_is_503_too(visitor, outsider, stranger, things, locked) -> None:
    one = f"/workloads/{things['training']}/"
    form = {**jobs.request(name="f", command=None), "command": "true", "idempotency_key": "k"}
    posts = {
        "/new/training/": form,
        f"{one}stop/": {},
        f"{one}delete/": {},
        "/preferences/": {"language": "es"},
        "/teams/data/members/": {"do": "add", "username": "otto", "role": "viewer"},
        "/tokens/": {"name": "x", "scope": "read", "days": "30"},
        "/logout/": {},
    }
    for path, body in posts.items():
        answer = visitor.post(path, body)
        assert (path, answer.status_code) == (path, 503)
        assert int(answer.headers["Retry-After"]) > 0
    answer = stranger.post("/login/", {"username": "pilar", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
