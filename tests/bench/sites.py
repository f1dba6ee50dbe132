"""The two sites on one database: the portal's web process with its broker, and the bare view."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.demo.places import ROOT, Places, Ports, environment
from deploy.demo.programs import all_programs, all_steps
from tests.bench.load import Request, http

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


def run(command: list[str], settings: dict[str, str]) -> None:
    """Runs a preparing step; its output is shown where it fails."""
    answer = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")


@contextmanager
def both(folder: Path, port: int) -> Iterator[tuple[Site, Site]]:
    """Both sites while they answer; everything they need is in `folder`, unless TURNO_DATABASE_URL says otherwise."""
    places, ports = Places(folder), Ports(port, port + 1, port + 2, port + 3)
    places.create()
    settings = {**environment(places, ports), "TURNO_LOG_LEVEL": "WARNING", "TURNO_RATE_LIMITS": "0"}
    for step in all_steps(ports):
        run(list(step.command), {**settings, **step.knows})
    bare = {**settings, "DJANGO_SETTINGS_MODULE": "tests.bench.bare.settings"}
    run([sys.executable, "-m", "django", "migrate", "--run-syncdb", "-v0", "bare"], bare)
    commands = {program.name: program.command for program in all_programs(places, ports)}
    bare_web = [str(ports.cluster) if part == str(port) else part for part in commands["web"]]
    bare_web[bare_web.index("portal.asgi:application")] = "tests.bench.bare.asgi:application"
    with ExitStack() as stack:
        stack.enter_context(running(commands["broker"], settings, folder / "broker.log"))
        stack.enter_context(running(commands["web"], settings, folder / "web.log"))
        stack.enter_context(running(tuple(bare_web), bare, folder / "bare.log"))
        turno = Site("turno", port, *turno_requests(places.credentials), settings)
        other = Site("bare", port + 1, *bare_requests(), bare)
        wait_for(f"http://127.0.0.1:{port}/readyz")
        wait_for(f"http://127.0.0.1:{port + 1}/things/")
        yield turno, other


@contextmanager
def running(command: tuple[str, ...], settings: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=settings, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    sys.exit(f"no answer at {url}")


def turno_requests(credentials: Path) -> tuple[Request, Request]:
    users = json.loads(credentials.read_text())["users"]
    user = next(user for user in users.values() if user["role"] == "member")
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
