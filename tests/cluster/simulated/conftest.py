"""A simulated API server in process (`ask`), and the same on a port of its own (`served`)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from portal.cluster.simulated.api import Api
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.namespaces import bootstrap
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.server import ApplicationServer, application_server, listen
from portal.cluster.simulated.store import Store
from tests.cluster.simulated.recorded import Player

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass
class Answer:
    status: int
    body: Any


class Asker:
    """Requests without sockets. Paths are relative to a namespace `w1`, or begin with a slash."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.store = store
        self.logs = LogBook()
        self.api = Api(store, self.logs, **options)
        self.player = Player(self.api)

    def __call__(self, method: str, path: str, body: Any = None, *, media: str = "application/json") -> Answer:
        whole = path if path.startswith("/") else f"/api/v1/namespaces/w1/{path}"
        status, answer, _ = self.player.send(method, whole, body, {"content-type": media})
        return Answer(status, answer)

    def merge(self, path: str, patch: Obj) -> Answer:
        return self("PATCH", path, patch, media=MERGE)

    def apply(self, path: str, config: Obj, *, manager: str = "turno-x", query: str = "") -> Answer:
        return self("PATCH", f"{path}?fieldManager={manager}{query}", config, media=APPLY)

    def config_map(self, name: str, data: dict[str, str] | None = None, **meta: Any) -> Answer:
        body: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}}
        return self("POST", "configmaps", {**body, "data": data} if data is not None else body)


@pytest.fixture
def store() -> Store:
    """A cluster of namespaces: those every cluster has, and w1."""
    kept = Store()
    bootstrap(kept)
    return kept


@pytest.fixture
def ask(store: Store) -> Asker:
    asker = Asker(store)
    created = asker("POST", "/api/v1/namespaces", {"metadata": {"name": "w1"}})
    assert created.status == 201
    return asker


@pytest.fixture
def ask_in_loop(ask: Asker) -> Asker:
    """For asynchronous tests, which talk to `ask_in_loop.api` themselves."""
    return ask


@dataclass
class Served:
    """An API server in a thread. `inside` runs something in its loop and gives back the result."""

    url: str
    store: Store
    logs: LogBook
    loop: asyncio.AbstractEventLoop

    def inside(self, call: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return call()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)


@pytest.fixture
def served(store: Store) -> Iterator[Served]:
    logs = LogBook()
    server = application_server(Api(store, logs, bookmark_every=0.2))
    loop = asyncio.new_event_loop()
    socket = listen("127.0.0.1", 0)
    socket.listen()
    thread = threading.Thread(target=loop.run_until_complete, args=(server.serve([socket]),))
    thread.start()
    yield Served(f"http://127.0.0.1:{socket.getsockname()[1]}", store, logs, loop)
    _stop(server, loop)
    thread.join(10)
    assert not thread.is_alive()
    loop.close()


def _stop(server: ApplicationServer, loop: asyncio.AbstractEventLoop) -> None:
    def stop() -> None:
        server.should_exit = True

    loop.call_soon_threadsafe(stop)


def lines(pieces: Iterator[bytes]) -> Iterator[Any]:
    """JSON lines out of pieces of a stream."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from map(json.loads, whole)
