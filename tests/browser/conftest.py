"""The whole demo, as `make demo` runs it, and a real Chromium in front of it. Any console error fails the test."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
READY_WITHIN = 240.0
# Chromium's word for a form that was refused, and htmx's for a poll that the next page cut off.
EXPECTED = ("status of 422", "htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
# The suite that needs nothing but Python has no browser: there is nothing here for it to collect.
collect_ignore_glob = [] if importlib.util.find_spec("playwright") else ["test_*.py"]


@dataclass(frozen=True)
class Demo:
    """A running demo: where it is, and who can sign in."""

    url: str
    users: dict[str, dict[str, Any]]

    def call(self, method: str, path: str, username: str, body: object = None) -> Any:
        """A call of the REST API in this person's name."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.users[username]['token']}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=70) as answer:
            return json.loads(answer.read() or b"null")

    def training(self, username: str, name: str, **changed: object) -> dict[str, Any]:
        """A small job of the person's team."""
        tenant = self.users[username]["tenant"]
        body = {"tenant": tenant, "name": name, "flavor": "h100-1g", "gpus": 1, "cpu": "1", "memory": "1Gi"}
        body |= {"image": "python", "framework": "job", "command": ["python", "train.py"]}
        found: dict[str, Any] = self.call("POST", "/training-jobs/", username, {**body, **changed})
        return found


def _free_ports() -> int:
    """The first of four neighbouring ports that are free now."""
    for first in range(18100, 19900, 10):
        try:
            for port in range(first, first + 4):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return first
    raise RuntimeError("no four free ports in a row")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    folder = tmp_path_factory.mktemp("demo")
    port = _free_ports()
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("TURNO_", "DJANGO_"))}
    environment = {**outside, "PORT": str(port), "TURNO_DEMO_FOLDER": str(folder)}
    with (folder / "console.log").open("wb") as console:
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy.demo"], cwd=ROOT, env=environment, stdout=console, stderr=console
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/readyz", process, folder / "console.log")
        yield Demo(url, json.loads((folder / "credentials.json").read_text())["users"])
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for(address: str, process: subprocess.Popen[bytes], console: Path) -> None:
    ends = time.monotonic() + READY_WITHIN
    while time.monotonic() < ends and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"the demo did not start:\n{console.read_text()}")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    return {
        **browser_type_launch_args,
        "executable_path": os.environ.get("CHROMIUM", "/usr/bin/chromium"),
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ],
    }


Visit = Callable[..., "Page"]


@pytest.fixture
def visit(browser: Browser, demo: Demo) -> Iterator[Visit]:
    """`visit(username, path, **options)`: a page in a fresh browser, signed in unless the name is None.

    Options: width, theme, language, script. At the end no page may have complained on its console.
    """
    said: list[str] = []
    contexts = []

    def open_page(
        username: str | None,
        path: str = "/",
        *,
        width: int = 1280,
        theme: str = "light",
        language: str = "en",
        script: bool = True,
    ) -> Page:
        context = browser.new_context(
            base_url=demo.url,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if theme == "dark" else "light",
            locale=language,
            timezone_id="Europe/Madrid",
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        if username is not None:
            page.goto("/login/")
            page.fill("#id_username", username)
            page.fill("#id_password", demo.users[username]["password"])
            page.press("#id_password", "Enter")
            page.wait_for_url(f"{demo.url}/")
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [line for line in said if not any(known in line for known in EXPECTED)] == []
