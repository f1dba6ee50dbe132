"""The two sites on one database: the portal's web process with its broker, and the bare view."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.load import Request, http
from tests.tooling.portal import Portal, run, running, wait_for, web_with_demo_data

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Site:
    """One server under load: how a submit and a list look there, and how its tables are filled."""

    name: str
    port: int
    submit: Request
    listing: Request
    settings: dict[str, str]

    def fill(self, count: int) -> None:
        run([sys.executable, "-m", "tests.bench.populate", str(count)], self.settings)


@contextmanager
def both(folder: Path, port: int) -> Iterator[tuple[Site, Site]]:
    """Both sites while they answer; everything they need is in `folder`, unless TURNO_DATABASE_URL says otherwise."""
    with web_with_demo_data(folder, port) as portal:
        settings = {**portal.settings, "DJANGO_SETTINGS_MODULE": "tests.bench.bare.settings"}
        run([sys.executable, "-m", "django", "migrate", "--run-syncdb", "-v0"], settings)
        with running(bare_command(portal), settings, folder / "log" / "bare.log"):
            wait_for(f"http://127.0.0.1:{port + 1}/things/")
            yield (
                Site("turno", port, *turno_requests(portal), portal.settings),
                Site("bare", port + 1, *bare_requests(), settings),
            )


def bare_command(portal: Portal) -> tuple[str, ...]:
    """The portal's own server command, with the other application and the next port."""
    other = {"portal.asgi:application": "tests.bench.bare.asgi:application", str(portal.port): str(portal.port + 1)}
    return tuple(other.get(part, part) for part in portal.web)


def turno_requests(portal: Portal) -> tuple[Request, Request]:
    user = portal.first("member")
    headers = {"Authorization": f"Bearer {user['token']}", **JSON}
    fixed = {"tenant": user["tenant"], "flavor": "cpu", "gpus": 0, "cpu": "1", "memory": "1Gi", "image": "python"}
    job = {**fixed, "framework": "job", "command": ["true"]}

    def submit(number: int) -> bytes:
        body = json.dumps({**job, "name": f"bench-{number}"}).encode()
        return http("POST", "/api/v1/training-jobs/", {**headers, "Idempotency-Key": f"{os.getpid()}-{number}"}, body)

    def listing(_number: int) -> bytes:
        return http("GET", f"/api/v1/workloads/?tenant={user['tenant']}", headers)

    return submit, listing


def bare_requests() -> tuple[Request, Request]:
    def submit(number: int) -> bytes:
        return http("POST", "/things/", JSON, json.dumps({"team": "data", "name": f"bench-{number}"}).encode())

    def listing(_number: int) -> bytes:
        return http("GET", "/things/", JSON)

    return submit, listing
