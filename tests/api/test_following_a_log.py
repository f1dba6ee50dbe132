"""`logs/?follow=true` over real streams: viewers that are cut off go on from the second of their last line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from django.test import AsyncClient

from jobs import services
from jobs.models import Run, Workload
from portal.cluster.models import LogChunk, LogStream
from portal.kernel import clock
from portal.rest.asking import ask_for_all
from tests.factories import logs
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db(transaction=True)
A_SECOND = 200
CHUNK = 80
BATCH = 500
ALL = 12 * BATCH
CUTS = 5


@pytest.fixture
def running(owner, room, job) -> Workload:
    row = services.submit(owner, kind="training", data=job)
    Workload.objects.filter(pk=row.pk).update(state="running", reason="ready")
    logs.stream(row)
    return row


def second(number: int) -> int:
    """The second of the container's clock in which a line was written."""
    return 1_800_000_000 + number // A_SECOND


def stamp(number: int) -> str:
    return datetime.fromtimestamp(second(number), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def write(first: int) -> None:
    """A batch of numbered lines, in chunks as the log reader writes them."""
    stream = LogStream.objects.get()
    for start in range(first, min(first + BATCH, ALL), CHUNK):
        numbers = range(start, min(start + CHUNK, first + BATCH, ALL))
        text, seconds = "", {}
        for number in numbers:
            seconds.setdefault(second(number), len(text))
            text += f"{number}\n"
        LogChunk.objects.create(
            stream=stream,
            seq=stream.next_seq,
            text=text,
            size=len(text),
            seconds=[list(one) for one in seconds.items()],
        )
        stream.next_seq += 1
    stream.save()


def finish(row: Workload) -> None:
    LogStream.objects.update(complete=True)
    Workload.objects.filter(pk=row.pk).update(state="succeeded", reason="completed")
    Run.objects.filter(workload=row).update(ended_at=clock.now(), outcome="succeeded")


async def follow(row: Workload, headers: dict[str, str], query: str) -> AsyncIterator[bytes]:
    answer = await AsyncClient().get(f"/api/v1/training-jobs/{row.pk}/logs/?follow=true&{query}", headers=headers)
    assert answer.status_code == 200
    async for part in answer.streaming_content:
        yield part


async def to_the_end(
    row: Workload, headers: dict[str, str], query: str, seen: asyncio.Queue[int] | None = None
) -> list[int]:
    """All lines that came; `seen` hears of how many there are, each time that there are more."""
    text = b""
    async for part in follow(row, headers, query):
        text += part
        if seen is not None:
            seen.put_nowait(text.count(b"\n"))
    return [int(line) for line in text.split()]


async def with_cuts(row: Workload, headers: dict[str, str]) -> list[int]:
    """Each connection but the last is cut after some lines; a line that was torn is not kept."""
    got: list[int] = []
    for cut in range(CUTS + 1):
        at = stamp(got[-1]) if got else ""
        text = b""
        stream = follow(row, headers, f"since={at}" if got else "tail=10000")
        async for part in stream:
            text += part
            if cut < CUTS and len(text) > 1500:
                text = text[:-2]
                break
        await stream.aclose()
        lines = [int(line) for line in text[: text.rfind(b"\n") + 1].split()]
        if got:
            first = lines[0]
            assert second(first) == second(got[-1])
            assert first == 0 or second(first - 1) < second(first)
            lines = lines[got[-1] + 1 - first :]
        got += lines
    return got


async def test_every_viewer_sees_every_line_once_and_in_order(running, owner) -> None:
    headers = await ask_for_all(people.bearer, owner)
    await ask_for_all(write, 0)
    seen: asyncio.Queue[int] = asyncio.Queue()
    began: asyncio.Queue[int] = asyncio.Queue()
    viewers = [
        asyncio.create_task(with_cuts(running, headers)),
        asyncio.create_task(to_the_end(running, headers, "tail=10000", seen)),
        asyncio.create_task(to_the_end(running, headers, "", began)),
    ]
    await asyncio.wait_for(began.get(), 30)
    for first in range(BATCH, ALL, BATCH):
        while await asyncio.wait_for(seen.get(), 30) < first:
            pass
        await ask_for_all(write, first)
    await ask_for_all(finish, running)
    cut, whole, late = await asyncio.wait_for(asyncio.gather(*viewers), 60)
    assert cut == whole == list(range(ALL))
    assert late == list(range(late[0], ALL))
    assert late[0] <= BATCH


async def test_since_means_all_lines_since(running, owner) -> None:
    headers = await ask_for_all(people.bearer, owner)
    for first in (0, BATCH):
        await ask_for_all(write, first)
    await ask_for_all(finish, running)
    since = stamp(300)

    async def read(query: str) -> list[int]:
        answer = await AsyncClient().get(f"/api/v1/training-jobs/{running.pk}/logs/?{query}", headers=headers)
        return [int(line) for line in answer.content.split()]

    assert await read(f"since={since}") == list(range(200, 2 * BATCH))
    assert await read(f"since={since}&tail=3") == [997, 998, 999]
    assert await read("") == list(range(900, 1000))


async def test_the_answer_says_when_something_inside_it_is_missing(running, owner) -> None:
    headers = await ask_for_all(people.bearer, owner)
    await ask_for_all(write, 0)
    await ask_for_all(finish, running)

    async def answer() -> tuple[str, str]:
        path = f"/api/v1/training-jobs/{running.pk}/logs/?tail=10000"
        found = await AsyncClient().get(path, headers=headers)
        return found.headers["Turno-Log-Truncated"], found.content.decode()

    assert (await answer())[0] == "false"
    await ask_for_all(LogChunk.objects.filter(seq=3).update, gap=True)
    truncated, text = await answer()
    assert truncated == "true"
    assert "missing" in text
