"""The portal's web process with the demo's data and broker, for suites that talk to it over HTTP."""

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
from typing import Any

from deploy.demo.places import ROOT, Places, Ports, environment
from deploy.demo.programs import all_programs, all_steps
from tests.plugins.environment import without_defaults


@dataclass(frozen=True)
class Portal:
    """Where it answers, who may talk to it, and the environment of its processes."""

    port: int
    users: dict[str, Any]
    settings: dict[str, str]
    web: tuple[str, ...]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def first(self, role: str) -> dict[str, Any]:
        """An account of that role: password, token, tenant."""
        found: dict[str, Any] = next(user for user in self.users.values() if user["role"] == role)
        return found


def run(command: list[str], settings: dict[str, str]) -> None:
    """Runs a preparing step; its output is shown where it fails."""
    answer = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")


@contextmanager
def running(command: tuple[str, ...], settings: dict[str, str], log: Path) -> Iterator[None]:
    """A process for the length of a block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=settings, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@contextmanager
def web_with_demo_data(folder: Path, port: int) -> Iterator[Portal]:
    """The portal without its worker: what is submitted stays where a request left it. Takes four ports from `port`."""
    places, ports = Places(folder), Ports(port, port + 1, port + 2, port + 3)
    places.create()
    settings = {**environment(places, ports, without_defaults(os.environ)), "TURNO_LOG_LEVEL": "WARNING"}
    for step in all_steps(ports):
        run(list(step.command), {**settings, **step.knows})
    commands = {program.name: program.command for program in all_programs(places, ports)}
    with ExitStack() as stack:
        stack.enter_context(running(commands["broker"], settings, places.logs / "broker.log"))
        stack.enter_context(running(commands["web"], settings, places.logs / "web.log"))
        wait_for(f"http://127.0.0.1:{port}/readyz")
        yield Portal(port, json.loads(places.credentials.read_text())["users"], settings, commands["web"])


def wait_for(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    sys.exit(f"no answer at {url}")
