"""`logs/` of a run that has just ended: the last lines are waited for, not left out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from itertools import count

import pytest
from django.test import AsyncClient

from jobs import selectors, services
from jobs.models import Run, Workload
from portal.cluster.models import LogStream
from portal.kernel import clock
from portal.rest.asking import ask_for_all
from tests.factories import logs
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ended(owner, room, job) -> Workload:
    """A job that ended just now; of its log one line is kept so far."""
    row = services.submit(owner, kind="training", data=job)
    now = clock.now()
    Workload.objects.filter(pk=row.pk).update(state="succeeded", reason="completed", finished_at=now)
    Run.objects.filter(workload=row).update(ended_at=now, outcome="succeeded")
    logs.chunk(logs.stream(row), "first\n")
    return row


def finish(row: Workload) -> None:
    logs.chunk(LogStream.objects.get(workload_id=row.pk), "last\n", complete=True)


@pytest.mark.parametrize("query", ["run=2", "run=0", "run=2&follow=true"])
async def test_a_run_that_there_never_was_is_missing_rather_than_silent(ended, owner, query) -> None:
    address = f"/api/v1/training-jobs/{ended.pk}/logs/?{query}"
    answer = await AsyncClient().get(address, headers=await ask_for_all(people.bearer, owner))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def body(answer) -> bytes:
    return b"".join([part async for part in answer.streaming_content]) if answer.streaming else answer.content


@pytest.mark.parametrize("query", ["", "?follow=true"])
async def test_the_last_line_is_waited_for(ended, owner, query, monkeypatch) -> None:
    waits = asyncio.Event()
    loop, looks = asyncio.get_running_loop(), count(1)

    def looking(look: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            if next(looks) == 3:  # it has looked, and looks again: it waits
                loop.call_soon_threadsafe(waits.set)
            return look(*args, **kwargs)

        return call

    monkeypatch.setattr(selectors, "log_text", looking(selectors.log_text))
    monkeypatch.setattr(selectors, "log_after", looking(selectors.log_after))

    async def ask() -> bytes:
        address = f"/api/v1/training-jobs/{ended.pk}/logs/{query}"
        return await body(await AsyncClient().get(address, headers=await ask_for_all(people.bearer, owner)))

    asked = asyncio.create_task(ask())
    await asyncio.wait_for(waits.wait(), 10)
    assert not asked.done()
    await ask_for_all(finish, ended)
    assert await asyncio.wait_for(asked, 10) == b"first\nlast\n"


@pytest.mark.parametrize("query", ["", "?follow=true"])
async def test_a_log_reader_that_is_down_keeps_nobody_waiting(ended, owner, query) -> None:
    long_ago = clock.now() - timedelta(minutes=1)
    await ask_for_all(lambda: Run.objects.filter(workload=ended).update(ended_at=long_ago))
    headers = await ask_for_all(people.bearer, owner)
    answer = await AsyncClient().get(f"/api/v1/training-jobs/{ended.pk}/logs/{query}", headers=headers)
    assert await asyncio.wait_for(body(answer), 2) == b"first\n"
