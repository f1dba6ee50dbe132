"""Pages, answers and rounds find the few rows they need by an index, however many there are of those that rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Run, Workload
from jobs.states import State
from portal.kernel import clock, ids
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.bench.populate import copy_of
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db
MANY = 3_000
MOST_BYTES = 200_000
LARGE = ("jobs_workload", "jobs_run", "kernel_feedentry")  # those that the fixture fills
# A scan of an index in the order of the page ends with the page; any other reads the table.
WHOLE = re.compile(rf"SCAN (?:{'|'.join(LARGE)})(?! USING)|Seq Scan on (?:{'|'.join(LARGE)})\b")
PATHS = (
    "/",
    "/home/live/",
    "/workloads/",
    "/workloads/table/",
    "/workloads/{id}/",
    "/workloads/{id}/live/",
    "/queue/",
    "/teams/data/",
    *(
        f"/api/v1{path}"
        for path in (
            "/workloads/",
            "/workloads/?state=running",
            "/workloads/?tenant=data&kind=training&flavor=h100-1g&owner=olga",
            "/workloads/?order=created_at",
            "/training-jobs/",
            "/training-jobs/{id}/",
            "/training-jobs/{id}/runs/",
            "/training-jobs/{id}/events/",
            "/training-jobs/{id}/explain/",
            "/queue/",
            "/flavors/",
            "/tenants/data/quota/",
        )
    ),
)


@pytest.fixture
def live(owner: Person, room: Lab) -> Workload:
    """The only one that is not over, among thousands that are; statistics as a running server has them."""
    jobs.with_gateway(room.cluster)
    row = jobs.submitted(owner, name="live")
    run, told, now = Run.objects.get(workload=row), FeedEntry.objects.order_by("pk")[0], clock.now()
    over = {"state": State.SUCCEEDED, "reason": "completed", "finished_at": now, "quota_held": False}
    rows = [
        copy_of(row, id=ids.uuid7(), name=f"over-{n}", created_at=now - timedelta(minutes=n), **over)
        for n in range(MANY)
    ]
    Workload.objects.bulk_create(rows, batch_size=500)
    Run.objects.bulk_create(
        [copy_of(run, id=ids.uuid7(), workload_id=one.pk, ended_at=now) for one in rows], batch_size=500
    )
    FeedEntry.objects.bulk_create(
        [copy_of(told, id=None, seq=100_000 + n, object_id=one.pk) for n, one in enumerate(rows)], batch_size=500
    )
    if connection.vendor == "postgresql":  # which keeps statistics by itself; SQLite has none unless it is told to
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return row


def whole_reads(call: Callable[[], object]) -> list[str]:
    """Those of the statements made by `call` whose plan reads a large table from end to end."""
    with CaptureQueriesContext(connection) as made:
        call()
    found = []
    explain = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
    with connection.cursor() as cursor:
        for sql in [query["sql"] for query in made.captured_queries if query["sql"].startswith("SELECT")]:
            cursor.execute(explain + sql.replace("%", "%%"), [])
            plan = "\n".join(str(row[-1]) for row in cursor.fetchall())
            if WHOLE.search(plan):
                found.append(f"{plan}\n{sql[:1500]}")
    return found


def test_pages_and_answers(owner: Person, live: Workload) -> None:
    found, sizes = {}, {}
    for path in PATHS:
        over_rest = path.startswith("/api/v1")
        client, headers = (Client(), people.bearer(owner)) if over_rest else (people.signed_in(owner), {})
        where = path.replace("{id}", str(live.pk))
        answer = client.get(where, headers=headers)
        assert answer.status_code == 200, path
        sizes[path] = len(answer.content)
        found[path] = whole_reads(partial(client.get, where, headers=headers))
    assert {path: plans for path, plans in found.items() if plans} == {}
    assert {path: size for path, size in sizes.items() if size > MOST_BYTES} == {}
