"""Many workloads, some of them bulky: a list carries what it shows, and costs what a list of ten does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs import services
from jobs.models import Run, Workload
from portal.kernel import clock, ids
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.api.conftest import Rest
from tests.bench.populate import copy_of
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db
FINISHED, LIVE = 380, 20
BULKY = {"env": {f"N{number}": "x" * 4000 for number in range(50)}, "command": ["x"], "args": []}
FILTERS = {
    "tenant": "data",
    "kind": "training",
    "state": "succeeded",
    "flavor": "h100-1g",
    "owner": "olga",
    "q": "no-such-name",
    "project": "none",
}
QUERIES = [
    "",
    *(f"{name}={value}" for name, value in FILTERS.items()),
    "&".join(f"{name}={value}" for name, value in FILTERS.items()),
    "order=created_at",
    "order=-created_at",
    "state=running",
]


@pytest.fixture
def first(owner, room, job) -> Workload:
    return services.submit(owner, kind="training", data=job)


@pytest.fixture
def many(first: Workload) -> Callable[[], None]:
    """Fills the team: every fourth one with 200 kB of environment, one with 200 events."""

    def fill() -> None:
        run = Run.objects.get(workload=first)
        over = {"state": "succeeded", "reason": "completed", "finished_at": clock.now()}
        rows = [
            copy_of(
                first,
                id=ids.uuid7(),
                name=f"fill-{number}",
                bulk=BULKY if number % 4 == 0 else first.bulk,
                **(over if number < FINISHED else {"state": "running", "reason": "ready"}),
            )
            for number in range(FINISHED + LIVE)
        ]
        Workload.objects.bulk_create(rows)
        Run.objects.bulk_create(
            [copy_of(run, id=ids.uuid7(), workload_id=row.pk, ended_at=clock.now()) for row in rows]
        )
        told = FeedEntry.objects.order_by("pk").first()
        assert told is not None
        FeedEntry.objects.bulk_create(
            [copy_of(told, id=None, seq=100_000 + number, object_id=rows[-1].pk) for number in range(200)]
        )

    return fill


def statements(call: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as made:
        call()
    return [query["sql"] for query in made.captured_queries]


def test_each_filter_costs_what_it_costs_with_ten_rows(
    rest: type[Rest], owner: Person, many: Callable[[], None]
) -> None:
    api = rest(owner)
    before = {query: len(statements(lambda q=query: api.get(f"/workloads/?{q}"))) for query in QUERIES}
    many()
    for query in QUERIES:
        made = statements(lambda q=query: api.get(f"/workloads/?{q}"))
        assert len(made) <= before[query], query
        assert not [sql for sql in made if '"bulk"' in sql or "manifest" in sql], query


def test_pages_are_bounded_in_bytes(rest: type[Rest], owner: Person, many: Callable[[], None]) -> None:
    many()
    api = rest(owner)
    first = api.get("/workloads/")
    assert len(first.json()["results"]) == 50
    assert len(first.content) < 100_000
    whole = api.get("/workloads/?page_size=200")
    assert len(whole.json()["results"]) == 200
    assert len(whole.content) < 400_000
    assert not {"env", "command", "events", "manifests"} & set(first.json()["results"][0])


def test_a_walk_ends_at_the_last_page_with_the_same_cost(
    rest: type[Rest], owner: Person, many: Callable[[], None]
) -> None:
    many()
    api, link, costs, seen = rest(owner), "/workloads/?page_size=50", [], 0
    while link:
        costs.append(len(statements(lambda where=link: api.get(where))))
        page = api.get(link).json()
        seen += len(page["results"])
        link = (page["next"] or "").partition("/api/v1")[2]
    assert seen == FINISHED + LIVE + 1
    assert max(costs) <= costs[0] + 1


def test_detail_has_what_lists_leave_out(rest: type[Rest], owner: Person, many: Callable[[], None]) -> None:
    many()
    row = Workload.objects.get(name="fill-0")
    answer = rest(owner).get(f"/training-jobs/{row.pk}/")
    assert len(answer.json()["env"]) == 50
    talkative = Workload.objects.get(name=f"fill-{FINISHED + LIVE - 1}")
    events = rest(owner).get(f"/training-jobs/{talkative.pk}/events/")
    assert len(events.json()["results"]) == 50


@pytest.mark.parametrize("path", ["/", "/home/live/", "/workloads/", "/workloads/table/", "/queue/"])
def test_pages_and_their_polls_are_bounded_too(
    owner: Person, first: Workload, many: Callable[[], None], path: str
) -> None:
    client: Client = people.signed_in(owner)
    before = len(statements(lambda: client.get(path)))
    many()
    made = statements(lambda: client.get(path))
    assert len(made) <= before
    assert not [sql for sql in made if '"jobs_workload"."bulk"' in sql]
    assert len(client.get(path).content) < 200_000
