"""A hundred thousand things that rest: the few that are due are found by an index, on either database."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import QuerySet

from portal.kernel import clock, ids, work
from portal.kernel.models import Work

pytestmark = pytest.mark.django_db
MANY = 5_000


@pytest.fixture
def resting() -> None:
    """As many as a database needs to prefer an index, all at rest; statistics as a running server has them."""
    Work.objects.bulk_create(
        (
            Work(id=ids.uuid7(), kind="workload", object_id=uuid.uuid4(), wanted_seq=seq % 9, done_seq=seq % 9)
            for seq in range(MANY)
        ),
        batch_size=1000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE kernel_work")


def open_one(**fields: object) -> Work:
    values: dict[str, object] = {"kind": "workload", "object_id": uuid.uuid4(), **fields}
    return Work.objects.create(**values)


def plan(rows: QuerySet[Work]) -> str:
    return rows.explain()


def test_what_is_due_is_found_without_looking_at_what_rests(resting: None) -> None:
    told = plan(work.due())
    assert "work_open" in told
    assert "SCAN kernel_work USING INDEX" in told or "SCAN" not in told
    assert "Seq Scan" not in told


def test_everything_that_is_open_is_in_the_index(resting: None) -> None:
    now = clock.now()
    wanted = open_one(wanted_seq=2, done_seq=1)
    late = open_one(due_at=now - timedelta(seconds=1))
    abandoned = open_one(lease_token=uuid.uuid4(), lease_until=now - timedelta(minutes=1))
    open_one(due_at=now + timedelta(minutes=1))
    open_one(wanted_seq=2, done_seq=1, parked_reason="gave up")
    assert {row.pk for row in work.due()} == {wanted.pk, late.pk, abandoned.pk}


def test_what_backs_off_is_hurried_without_looking_at_what_rests(resting: None) -> None:
    patient = open_one(due_at=clock.now() + timedelta(seconds=30), attempts=3, wanted_seq=2, done_seq=1)
    assert work.hurry() == 1
    assert [row.pk for row in work.due()] == [patient.pk]
