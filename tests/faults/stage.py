"""Every process of Turno, for real: on loopback ports of its own, with the fault proxy before the cluster.

One stage serves the whole folder. A test breaks something and mends it; `agreement` is asked in the end. Names of
workloads are new in every test: what one test leaves behind is one more thing that must stay true in the next.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from django.db import connections
from django.db.utils import load_backend
from psycopg import sql

from deploy.demo.places import Places, Ports, environment
from deploy.demo.programs import Program, all_programs, all_steps
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.port import JsonObject
from portal.settings.database import database
from tests.faultproxy.proxy import FaultProxy
from tests.faults.client import Client, http
from tests.faults.servers import TIED, redis_server
from tests.tooling.processes import ROOT, Running, free_port, listens, wait_until

SPEED = 10
CONCURRENCY = 6
PORTAL = ("web", "worker", "beat", "watch", "logs")
NAMES = frozenset({"broker", "cluster", *PORTAL})


@dataclass
class Stage:
    """The processes that run now, by name; a second one of a kind is called `worker-2`."""

    places: Places
    ports: Ports
    settings: dict[str, str]
    proxy: FaultProxy
    programs: dict[str, Program]
    running: dict[str, Running] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports.web}"

    @property
    def gateway(self) -> KubeGateway:
        """Straight to the cluster, past the proxy: what really is there."""
        return KubeGateway(Connection(f"http://127.0.0.1:{self.ports.cluster}"), manager="turno-turno")

    def client(self, username: str) -> Client:
        return Client(self.url, self.users[username]["token"], self.users[username]["tenant"] or "")

    def start(self, *wanted: str) -> None:
        for name in wanted:
            kind, _, copy = name.partition("-")
            program = self.programs[kind]
            output = self.places.logs / f"{name}-{time.monotonic_ns()}.log"
            command = [*TIED, *(part.replace("COPY", copy or "1") for part in program.command)]
            self.running[name] = Running(command, output, {**self.settings, **program.knows})

    def until_up(self, *names: str) -> None:
        """What these processes say once they are at work."""
        for name in names:
            running = self.running[name]
            kind = name.partition("-")[0]
            if kind == "web":
                wait_until(lambda: http("GET", f"{self.url}/readyz").status == 200, "web is ready")
            elif kind == "cluster":
                wait_until(lambda: listens(self.ports.control), "the cluster listens")
            elif kind == "broker":
                wait_until(self.places.socket.exists, "the broker listens")
            elif kind in SAYS:
                running.wait_for(SAYS[kind])

    def kill(self, *names: str) -> None:
        """kill -9, with everything that a process started."""
        for name in names:
            self.running.pop(name).end()

    def restart(self, *names: str) -> None:
        self.kill(*names)
        self.start(*names)
        self.until_up(*names)

    def pause(self, name: str) -> None:
        """Stops it as it stands, outside of a transaction: SQLite has one lock, and nobody could write beside it."""
        with locked(self):
            os.killpg(self.running[name].process.pid, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.running[name].process.pid, signal.SIGCONT)

    def whole(self) -> None:
        """Every process runs once, and nothing is broken any more."""
        self.proxy.faults.clear()
        self.kill(*(name for name in list(self.running) if name not in NAMES))
        for name in self.running:
            self.resume(name)
        dead = [name for name in NAMES if name not in self.running or self.running[name].process.poll() is not None]
        self.start(*dead)
        self.until_up(*dead)

    def control(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """The cluster's control endpoint."""
        answer = http(method, f"http://127.0.0.1:{self.ports.control}{path}", body=json.dumps(body or {}).encode())
        assert answer.status < 300, answer.text
        return answer.json

    def asked(self, pattern: str) -> int:
        """How many requests that look so have reached the proxy."""
        return sum(1 for request in self.proxy.seen if re.search(pattern, request))

    def flush_broker(self) -> None:
        """Nothing is left in it, not even what its clients think is there."""
        with redis.Redis(unix_socket_path=str(self.places.socket)) as client:
            client.flushall()

    def said(self) -> str:
        """What all processes wrote so far."""
        return "".join(file.read_text(errors="replace") for file in sorted(self.places.logs.glob("*.log")))

    def end(self) -> None:
        for name in list(self.running):
            self.kill(name)


# SQLite has no sleep: a long count takes its place.
SLOW_SQLITE = """
CREATE VIEW slow_view AS WITH RECURSIVE counting(x) AS
    (SELECT 1 UNION ALL SELECT x + 1 FROM counting WHERE x < 40000000) SELECT max(x) AS most FROM counting;
CREATE TRIGGER slow AFTER INSERT ON kernel_feedentry WHEN NEW.source = 'turno' AND NEW.by_type = ''
    BEGIN UPDATE kernel_feedentry SET run = run WHERE id = NEW.id AND (SELECT most FROM slow_view) = 0; END;
"""
SLOW_POSTGRESQL = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.source = 'turno' AND NEW.by_type = '' THEN PERFORM pg_sleep(20); END IF; RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE INSERT ON kernel_feedentry FOR EACH ROW EXECUTE FUNCTION slow();
"""
SAYS = {"worker": " ready.", "beat": "maxinterval", "watch": "watching cluster"}


@contextmanager
def real_processes(folder: Path) -> Iterator[Stage]:
    """Everything is up, the demo's teams have their space on the cluster."""
    first = free_port(4)
    places, ports = Places(folder), Ports(first, first + 1, first + 2, first + 3)
    places.create()
    with ExitStack() as stack:
        url = stack.enter_context(own_database(places))
        proxy = stack.enter_context(FaultProxy(f"http://127.0.0.1:{ports.cluster}"))
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("TURNO_", "DJANGO_"))}
        settings = {**environment(places, ports), **{name: "" for name in os.environ if name.startswith("TURNO_")}}
        settings |= {**outside, **own_settings(places, ports, url)}
        stage = Stage(places, ports, settings, proxy, programs(places, ports, proxy.address))
        stack.callback(stage.end)
        stage.start("broker", "cluster")
        migrate, demo_data = all_steps(ports)
        run(migrate.command, settings)
        stage.start(*PORTAL)
        run(demo_data.command, {**settings, **demo_data.knows})
        stage.users = json.loads(places.credentials.read_text())["users"]
        stage.until_up("broker", "cluster", *PORTAL)
        yield stage


def own_settings(places: Places, ports: Ports, database_url: str) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "portal.settings",
        "TURNO_DEMO": "1",
        "TURNO_DEMO_FOLDER": str(places.folder),
        "TURNO_SECRET_KEY": places.secret_key(),
        "TURNO_DATABASE_URL": database_url,
        "TURNO_DATABASE_POOL": "8",
        "TURNO_BROKER_URL": f"redis+socket://{places.socket}?virtual_host=0",
        "TURNO_PUBLIC_URL": f"http://127.0.0.1:{ports.web}",
        "TURNO_LOG_JSON": "0",
        "TURNO_LOG_LEVEL": "INFO",
    }


def programs(places: Places, ports: Ports, door: str) -> dict[str, Program]:
    """The demo's own, with more hands, a faster cluster, and the proxy in between."""
    found = {program.name: program for program in all_programs(places, ports)}
    for name in ("worker", "watch", "logs"):
        found[name] = replace(found[name], knows={"TURNO_CLUSTER_CONNECTIONS": f"default={door}"})
    command = [*found["worker"].command, "--hostname", "COPY@here"]
    command[command.index("--concurrency") + 1] = str(CONCURRENCY)
    found["worker"] = replace(found["worker"], command=tuple(command))
    found["cluster"] = replace(found["cluster"], command=(*found["cluster"].command, "--speed", str(SPEED)))
    found["broker"] = replace(found["broker"], command=redis_server(found["broker"].command))
    beat = [f"{part}-COPY" if str(places.schedule) in part else part for part in found["beat"].command]
    found["beat"] = replace(found["beat"], command=tuple(beat))
    return found


def run(command: tuple[str, ...], settings: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


@contextmanager
def own_database(places: Places) -> Iterator[str]:
    """A database of its own: a file, or one more on the suite's PostgreSQL server."""
    outer = os.environ.get("TURNO_DATABASE_URL", "")
    if not outer.startswith("postgres"):
        yield f"sqlite:///{places.database}"
        return
    name = f"turno_faults_{os.getpid()}"
    with psycopg.connect(outer, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlunsplit(urlsplit(outer)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(outer, autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def looking_into(stage: Stage) -> Iterator[None]:
    """The stage's rows, through the models, in this thread."""
    settings = {**connections.settings["default"], **database(stage.settings["TURNO_DATABASE_URL"], pool_size=0)}
    before = connections["default"]
    looking = load_backend(settings["ENGINE"]).DatabaseWrapper(settings, "default")
    connections["default"] = looking
    try:
        yield
    finally:
        looking.close()
        connections["default"] = before


@contextmanager
def locked(stage: Stage) -> Iterator[None]:
    """Nobody can write into the database: whoever tries waits."""
    url = stage.settings["TURNO_DATABASE_URL"]
    if url.startswith("sqlite"):
        file = sqlite3.connect(stage.places.database, timeout=10, isolation_level=None)
        file.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            file.execute("ROLLBACK")
            file.close()
        return
    with psycopg.connect(url) as server:
        server.execute("LOCK TABLE kernel_work, kernel_feedscope, cluster_mirrorobject IN EXCLUSIVE MODE")
        yield
        server.rollback()


@contextmanager
def slow_history(stage: Stage) -> Iterator[None]:
    """Whoever writes a line of history stands still inside of the transaction, near its end, for some seconds."""
    url = stage.settings["TURNO_DATABASE_URL"]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(stage.places.database, timeout=10, isolation_level=None)) as file:
            file.executescript(SLOW_SQLITE)
            try:
                yield
            finally:
                file.executescript("DROP TRIGGER slow; DROP VIEW slow_view")
        return
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(SLOW_POSTGRESQL)
        try:
            yield
        finally:
            server.execute("DROP TRIGGER slow ON kernel_feedentry; DROP FUNCTION slow()")
