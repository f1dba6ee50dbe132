"""One request too many is answered in the API's own words, at once, and the next one after an end is taken again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from portal.shell.overload import with_a_limit

Sent = list[Mapping[str, Any]]


class Crowd:
    """An application whose requests end when they are let go, behind a limit of two."""

    def __init__(self) -> None:
        self.door = asyncio.Event()
        self.taken = 0
        self.guarded = with_a_limit(self._answer, most=2)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        self.taken += 1
        await self.door.wait()
        if scope["path"] == "/breaks/":
            raise RuntimeError
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def ask(self, address: str, kind: str = "http") -> Sent:
        path, _, query = address.partition("?")
        sent: Sent = []

        async def receive() -> Mapping[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            sent.append(message)

        await self.guarded({"type": kind, "path": path, "query_string": query.encode()}, receive, send)
        return sent

    async def fill(self, *paths: str) -> list[asyncio.Task[Sent]]:
        tasks = [asyncio.create_task(self.ask(path)) for path in paths]
        await asyncio.sleep(0)  # each runs up to the closed door
        assert self.taken == len(paths)
        return tasks


@pytest.mark.parametrize(
    ("path", "media"), [("/api/v1/me/", "application/problem+json"), ("/", "text/plain; charset=utf-8")]
)
def test_one_too_many_is_told_to_come_back(path: str, media: str) -> None:
    async def story() -> Sent:
        crowd = Crowd()
        tasks = await crowd.fill("/", "/api/v1/me/")
        refused = await crowd.ask(path)
        crowd.door.set()
        await asyncio.gather(*tasks)
        assert crowd.taken == 2
        return refused

    start, body = asyncio.run(story())
    headers = dict(start["headers"])
    assert start["status"] == 503
    assert headers[b"content-type"].decode() == media
    assert int(headers[b"retry-after"]) > 0
    assert int(headers[b"content-length"]) == len(body["body"])
    if path.startswith("/api/"):
        problem = json.loads(body["body"])
        assert (problem["status"], problem["code"], problem["instance"]) == (503, "unavailable", path)


def test_a_place_is_free_again_however_a_request_ended() -> None:
    async def story() -> Sent:
        crowd = Crowd()
        tasks = await crowd.fill("/breaks/", "/breaks/")
        crowd.door.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(error) for error in ended] == [RuntimeError, RuntimeError]
        return await crowd.ask("/api/v1/me/")

    assert asyncio.run(story())[0]["status"] == 200


def test_what_is_no_request_is_never_refused() -> None:
    async def story() -> int:
        crowd = Crowd()
        tasks = await crowd.fill("/", "/")
        crowd.door.set()
        await crowd.ask("/", kind="lifespan")
        await asyncio.gather(*tasks)
        return crowd.taken

    assert asyncio.run(story()) == 3


@pytest.mark.parametrize("query", ["wait=60&for=finished", "tail=100&follow=true"])
def test_however_many_wait_everybody_else_is_answered(query: str) -> None:
    async def story() -> tuple[Sent, Sent]:
        crowd = Crowd()
        tasks = await crowd.fill(f"/api/v1/one/?{query}", f"/api/v1/two/?{query}")
        one_more = await crowd.ask(f"/api/v1/three/?{query}")
        other = asyncio.create_task(crowd.ask("/api/v1/me/"))
        await asyncio.sleep(0)
        crowd.door.set()
        await asyncio.gather(*tasks)
        return one_more, await other

    one_more, other = asyncio.run(story())
    assert one_more[0]["status"] == 503
    assert other[0]["status"] == 200
