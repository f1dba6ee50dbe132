"""A demo with all its real processes, shared by the stories that are told to it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tooling.processes import Running, free_port


@pytest.fixture(scope="session")
def credentials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The accounts of a demo that runs."""
    around = tmp_path_factory.mktemp("functional")
    environment = {"TURNO_DEMO_FOLDER": str(around / "demo"), "PORT": str(free_port(4))}
    demo = Running([sys.executable, "-m", "deploy.demo"], around / "output", environment)
    try:
        demo.wait_for("Ctrl-C stops everything", within=180)
        yield around / "demo" / "credentials.json"
    finally:
        demo.signal(signal.SIGINT)
        demo.wait(20)
        demo.end()
