"""A followed log misses nothing that is written while its reader is busy."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from portal.cluster.simulated.exchange import Request
from tests.cluster.simulated.conftest import Asker
from tests.cluster.simulated.test_pod_logs import make_pod

AT = datetime(2026, 12, 1, 9, tzinfo=UTC)


async def test_lines_written_while_the_reader_was_busy_come_next(ask_in_loop: Asker) -> None:
    uid = make_pod(ask_in_loop, state={"running": {}})["metadata"]["uid"]
    logs = ask_in_loop.logs
    logs.append(uid, "main", 0, AT, b"one\n")
    request = Request("GET", "/api/v1/namespaces/w1/pods/p/log", {"follow": "true"}, {})
    stream = ask_in_loop.api.answer(request).stream
    assert stream is not None
    assert await anext(stream) == b"one\n"

    logs.append(uid, "main", 0, AT, b"two\n")

    assert await asyncio.wait_for(anext(stream), 5) == b"two\n"
    logs.append(uid, "main", 0, AT, b"three")
    logs.end(uid, "main", 0)
    assert [piece async for piece in stream] == [b"three"]
