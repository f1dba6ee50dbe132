"""`wait=` and `for=`: answers when it is met, when it cannot be met any more, or says that the time ran out."""

from __future__ import annotations

import asyncio
import json

import pytest
from django.test import AsyncClient

from jobs import services
from jobs.api import waiting
from jobs.models import Workload
from portal.rest.asking import ask_for_all
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row(owner, room, job) -> Workload:
    return services.submit(owner, kind="training", data=job)


@pytest.fixture
def headers(owner) -> dict[str, str]:
    return people.bearer(owner)


def url(row: Workload, query: str) -> str:
    return f"/api/v1/training-jobs/{row.pk}/?{query}"


@pytest.mark.parametrize("query", ["wait=61", "wait=-1", "wait=x", "wait=", "wait=1&for=lunch", "wait=1.5"])
def test_other_values_are_400(rest, owner, row, query) -> None:
    assert rest(owner).get(f"/training-jobs/{row.pk}/?{query}").status_code == 400


def test_what_is_not_met_in_time_is_200_and_says_so(rest, owner, row) -> None:
    answer = rest(owner).get(f"/training-jobs/{row.pk}/?wait=0&for=running")
    assert (answer.status_code, answer.headers["Turno-Wait"]) == (200, "timeout")
    assert answer.json()["state"] == "submitted"


def test_what_is_met_is_answered_at_once(rest, owner, row) -> None:
    Workload.objects.filter(pk=row.pk).update(state="running", reason="ready")
    answer = rest(owner).get(f"/training-jobs/{row.pk}/?wait=60&for=running")
    assert "Turno-Wait" not in answer.headers
    assert answer.json()["state"] == "running"


def test_what_cannot_be_met_any_more_is_answered_at_once(rest, owner, row) -> None:
    Workload.objects.filter(pk=row.pk).update(state="failed", reason="exit_code")
    answer = rest(owner).get(f"/training-jobs/{row.pk}/?wait=60&for=running")
    assert "Turno-Wait" not in answer.headers
    assert answer.json()["state"] == "failed"


async def taken_in() -> None:
    """Until the poll is open in this process."""
    async with asyncio.timeout(10):
        while not waiting._open:  # noqa: ASYNC110  the poll opens by itself
            await asyncio.sleep(0)


async def test_a_change_ends_the_wait(row, headers, owner) -> None:
    client = AsyncClient()
    asked = asyncio.create_task(client.get(url(row, "wait=30&for=finished"), headers=headers))
    await taken_in()
    assert not asked.done()
    await ask_for_all(services.stop, owner, workload_id=row.pk)
    await ask_for_all(lambda: Workload.objects.filter(pk=row.pk).update(state="stopped"))
    await ask_for_all(lambda: services.change(owner, workload_id=row.pk, data={"description": "x"}))
    answer = await asyncio.wait_for(asked, 10)
    assert json.loads(answer.content)["state"] == "stopped"


async def test_a_lost_right_ends_the_wait_as_missing(row, headers, owner, manager, room) -> None:
    client = AsyncClient(raise_request_exception=False)
    asked = asyncio.create_task(client.get(url(row, "wait=30"), headers=headers))
    await taken_in()
    await ask_for_all(lambda: people.Membership.objects.filter(user_id=owner.id).delete())
    await ask_for_all(services.stop, manager, workload_id=row.pk)
    answer = await asyncio.wait_for(asked, 10)
    assert answer.status_code == 404


def test_more_than_twenty_open_ones_of_one_token_are_429(rest, owner, row, monkeypatch) -> None:
    monkeypatch.setattr(waiting, "MOST_PER_TOKEN", 0)
    answer = rest(owner).get(f"/training-jobs/{row.pk}/?wait=1")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "1")
