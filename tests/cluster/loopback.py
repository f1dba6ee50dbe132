"""The simulated cluster's API on a loopback port inside the test's process, with a hand on its store."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import uvicorn

from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.server import Cluster, Settings, listen
from portal.cluster.simulated.store import Store
from portal.kernel import clock

Result = TypeVar("Result")


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@dataclass
class Loopback:
    """`address` serves the API; `call` runs something on the server's own loop, where store, logs and `cluster` (its
    controllers, its control endpoint) may be touched."""

    address: str
    store: Store
    logs: LogBook
    loop: asyncio.AbstractEventLoop
    cluster: Cluster

    def call(self, work: Callable[[], Result]) -> Result:
        async def run() -> Result:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)


def _ended(serving: Future[None], thread: threading.Thread) -> None:
    """Waits until the server has ended; where it does not, says where its thread is."""
    try:
        serving.result(10)
    except TimeoutError:
        frame = sys._current_frames().get(thread.ident or 0)
        where = "".join(traceback.format_stack(frame)) if frame else "no place: it has ended"
        raise AssertionError(f"the simulated cluster does not end; its thread is at\n{where}") from None


@contextmanager
def simulated(
    *, controllers: bool = False, bookmark_every: float = 0.2, state: Path | None = None
) -> Iterator[Loopback]:
    """A cluster that forgets everything at the end, unless `state` keeps it. With controllers, jobs run."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="simulated-cluster", daemon=True)
    thread.start()
    sock = listen("127.0.0.1", 0)
    cluster = Cluster(Settings(port=0, data_port=0, control_port=0, bookmark_every=bookmark_every, state=state))
    config = uvicorn.Config(cluster.api, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=1)
    server = _Server(config)
    tasks = [asyncio.run_coroutine_threadsafe(server.serve([sock]), loop)]
    if controllers:
        tasks.append(asyncio.run_coroutine_threadsafe(cluster.run_controllers(), loop))
    try:
        deadline = clock.monotonic() + 10
        while not server.started:
            assert clock.monotonic() < deadline, "the simulated cluster did not start"
            time.sleep(0.01)
        yield Loopback(f"http://127.0.0.1:{sock.getsockname()[1]}", cluster.store, cluster.logs, loop, cluster)
    finally:
        server.force_exit = server.should_exit = True
        _ended(tasks[0], thread)
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()
        sock.close()


async def _end(server: _Server) -> None:
    """Cancels what still runs on the loop (open watches, the controllers), and closes what is connected still."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    for connection in list(server.server_state.connections):
        if connection.transport is not None:
            connection.transport.abort()
    await asyncio.sleep(0)  # what was aborted is told of it
