"""A submit makes few statements, and reads nothing while it holds the lock of its transaction."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories import jobs

pytestmark = pytest.mark.django_db(transaction=True)
MOST = 21  # PostgreSQL's lock time-out included
KINDS = {"notebook": "notebooks", "training": "training-jobs", "endpoint": "endpoints"}


def submitted(client, kind: str, name: str, **headers: str) -> list[str]:
    """The statements of one submit."""
    with CaptureQueriesContext(connection) as made:
        answer = client.post(f"/{KINDS[kind]}/", jobs.request(kind, name=name), **headers)
    assert answer.status_code == 201
    return [query["sql"] for query in made.captured_queries]


@pytest.mark.parametrize("kind", KINDS)
def test_a_submit_makes_few_statements_however_much_there_is(rest, owner, room, kind) -> None:
    jobs.with_gateway(room.cluster)
    client = rest(owner)
    submitted(client, kind, "first")  # a token notes its use once a minute
    few = submitted(client, kind, "second", **{"Idempotency-Key": "two"})
    for number in range(20):
        jobs.submitted(owner, kind, name=f"more-{number}")
    many = submitted(client, kind, "third", **{"Idempotency-Key": "three"})
    assert len(few) == len(many)
    assert len(many) <= MOST + (kind == "notebook")  # a notebook asks for the kept home of its name


def test_whoever_waits_for_the_lock_waits_for_writes_alone(rest, owner, room) -> None:
    client = rest(owner)
    submitted(client, "training", "first")
    made = submitted(client, "training", "second", **{"Idempotency-Key": "two"})
    begins = next(place for place, sql in enumerate(made) if sql.startswith("BEGIN"))
    inside = [sql.partition(" ")[0] for sql in made[begins + 1 : -1]]
    assert made[-1] == "COMMIT"
    assert "SELECT" not in inside
    assert "SAVEPOINT" not in inside
    assert len(inside) <= 9


def test_a_replay_is_judged_by_nothing_but_its_key(rest, owner, room) -> None:
    client = rest(owner)
    submitted(client, "training", "first")
    submitted(client, "training", "second", **{"Idempotency-Key": "two"})
    made = submitted(client, "training", "second", **{"Idempotency-Key": "two"})
    assert len(made) == 3  # the token, the team, the kept answer
