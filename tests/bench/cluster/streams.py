"""A web process with a thousand idle long polls, beside the same process with none."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from portal.kernel import clock
from tests.bench.cluster.figures import figure, note, title
from tests.bench.cluster.site import USER, Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import AuditLog, counted
from tests.bench.load import http
from tests.faults.client import Submitted

PER_TOKEN = 20
WARM = 300
WAIT = 50
SOME = 15.0  # seconds in which nothing happens


def measure(site: Site, sizes: Sizes) -> None:
    title(f"One web process with {sizes.streams:,} idle long polls")
    one = site.submit(f"stream-{int(time.monotonic())}", 3600)
    one.until("running")
    tokens = [token(site, number) for number in range(-(-sizes.streams // PER_TOKEN))]
    for _ in range(WARM):
        one.now()
    none = site.memory("web")
    audit = AuditLog(site.plane.plane.places.logs / "audit.log")
    open_ones, many, answer = asyncio.run(polls(site, one, tokens, sizes.streams))
    asked = [each for each in audit.take() if each.verb != "watch"]
    figure("memory beside none", many / none, 1.5, unit="x", told=f"{many:.0f} MiB beside {none:.0f} MiB")
    figure("of them open after a while", open_ones, sizes.streams, least=True, told=f"another GET took {answer:.0f} ms")
    figure("requests to the API server meanwhile", len(asked), 0, told=counted(asked))
    one.do("stop")
    one.until("stopped")
    note(f"    {site.memory('web'):.0f} MiB after they ended")


def token(site: Site, number: int) -> str:
    ends = (clock.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"name": f"stream-{number}-{int(time.monotonic())}", "scopes": ["read"], "expires_at": ends}
    answer = site.client(USER).call("POST", "/tokens/", body)
    assert answer.status == 201, answer.text
    return str(answer.json["token"])


async def polls(site: Site, one: Submitted, tokens: list[str], count: int) -> tuple[int, float, float]:
    """How many were still open after a while, the process's memory then in MiB, and how long another GET took in ms."""
    path = f"/api/v1{one.path}?wait={WAIT}&for=finished"
    writers = []
    waiting: list[asyncio.Task[bytes]] = []
    for number in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", site.ports.web)
        writer.write(http("GET", path, {"Authorization": f"Bearer {tokens[number // PER_TOKEN]}"}))
        writers.append(writer)
        waiting.append(asyncio.create_task(reader.readline()))
        if not number % 50:
            await asyncio.sleep(0.2)
    await asyncio.sleep(SOME)
    began = time.monotonic()
    await asyncio.to_thread(one.now)
    took = (time.monotonic() - began) * 1000
    found = sum(not each.done() for each in waiting), site.memory("web"), took
    early = {each.result() for each in waiting if each.done()}
    if early:
        note(f"    answered early: {early}")
    for writer in writers:
        writer.close()
    await asyncio.gather(*waiting, return_exceptions=True)
    return found
