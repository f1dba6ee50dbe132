"""Suites that run Turno's real processes, and kill and pause them: `make test-processes`, one test at a time.

A file belongs to them by where it is, so that a new one cannot be forgotten.
"""

from pathlib import Path

import pytest

FOLDERS = ("tests/faults", "tests/functional", "tests/cluster/processes")
FILES = (
    "tests/tooling/test_demo_refusals.py",
    "tests/tooling/test_demo_smoke.py",
    "tests/tooling/test_demo_supervisor.py",
    "tests/tooling/test_environment.py",
)
LONGEST = 400  # seconds a test; what is awaited has shorter limits of its own, which say what did not come
ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks them `processes`, with a time limit for a busy machine."""
    for item in items:
        place = item.path.relative_to(ROOT).as_posix()
        if place.startswith(FOLDERS) or place in FILES:
            item.add_marker(pytest.mark.processes)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(LONGEST))
