"""The process: one loop that serves the API, the data plane and the control endpoint, and runs the controllers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from portal.cluster.simulated.api import Api
from portal.cluster.simulated.control import Control
from portal.cluster.simulated.controllers.clusterclock import ClusterClock
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.dataplane import DataPlane
from portal.cluster.simulated.in_use import release_finalizers
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.namespaces import bootstrap
from portal.cluster.simulated.pending import PendingWorkloads
from portal.cluster.simulated.store import Change, Store
from portal.cluster.simulated.webhooks import Webhooks

log = logging.getLogger(__name__)

_LONGEST_NAP = 30.0
_GATHER = 0.005


@dataclass(frozen=True)
class Settings:
    """Ports on the loopback address (0: any free one). portal_url: where the portal listens, which the data plane
    asks before it opens a notebook. state: the store's file, None keeps nothing; the containers' logs are kept beside
    it. speed: how much faster than real delays pass."""

    port: int
    data_port: int
    control_port: int
    portal_url: str = "http://127.0.0.1:8000"
    state: Path | None = None
    speed: float = 1.0
    bookmark_every: float = 10.0
    host: str = "127.0.0.1"


class Cluster:
    """Everything of one simulated cluster, without sockets. Raises OSError or ValueError for an unusable state file."""

    def __init__(self, settings: Settings) -> None:
        state = settings.state
        self.clock = ClusterClock()
        self.store = Store(state, clock=self.clock)
        bootstrap(self.store)
        self.logs = LogBook(state.with_suffix(".logs") if state is not None else None)
        self.manager = Manager(self.store, self.logs, self.clock, settings.speed)
        runs = self.manager.world.settings
        self.webhooks = Webhooks(lambda: runs.kueue_runs)
        self.api = Api(
            self.store,
            self.logs,
            self.webhooks,
            bookmark_every=settings.bookmark_every,
            visibility=PendingWorkloads(self.manager),
        )
        self.data_plane = DataPlane(self.manager, settings.portal_url)
        self.control = Control(self.manager)

    async def run_controllers(self) -> None:
        """Until cancelled. Changes that come together are worked off together."""
        changed = asyncio.Event()

        def note(_: Change) -> None:
            changed.set()

        self.store.subscribe(note)
        while True:
            changed.clear()
            release_finalizers(self.store)
            due = self.manager.tick()
            nap = _LONGEST_NAP if due is None else min(due, _LONGEST_NAP)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), nap)
            await asyncio.sleep(_GATHER)


class ApplicationServer(uvicorn.Server):
    """Leaves the process's signals to the one who runs several servers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises OSError, naming the address."""
    # asyncio sends small answers at once (TCP_NODELAY) only where the protocol is named: without, each takes 40 ms.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(f"{host}:{port} is taken: {error.strerror}") from error
    return sock


async def serve(settings: Settings) -> None:
    """Until SIGTERM or SIGINT. Raises OSError, ValueError."""
    ports = (settings.port, settings.data_port, settings.control_port)
    listening = [listen(settings.host, port) for port in ports]
    cluster = Cluster(settings)
    applications: list[Any] = [cluster.api, cluster.data_plane, cluster.control]
    for name, sock in zip(("API", "data plane", "control endpoint"), listening, strict=True):
        log.info("%s on http://%s:%s", name, *sock.getsockname())
    servers = [application_server(application) for application in applications]
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for server in servers:
            server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    controllers = asyncio.ensure_future(cluster.run_controllers())
    controllers.add_done_callback(lambda _: stop())
    try:
        await asyncio.gather(*(server.serve([sock]) for server, sock in zip(servers, listening, strict=True)))
    finally:
        controllers.cancel()
        cluster.store.close()
    with contextlib.suppress(asyncio.CancelledError):
        await controllers


def application_server(application: Any) -> ApplicationServer:
    """One ASGI application's server; its `serve` takes the sockets."""
    config = uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,
    )
    return ApplicationServer(config)


def run(settings: Settings) -> None:
    """Serve in a loop of its own."""
    asyncio.run(serve(settings))
