"""One stage of real processes for the whole folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from pytest_django import DjangoDbBlocker

from tests.faults.agreement import agreement
from tests.faults.client import Client
from tests.faults.stage import Stage, looking_into, real_processes

_numbers = count(1)


@pytest.fixture(scope="package")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with real_processes(tmp_path_factory.mktemp("faults")) as found:
        yield found


@pytest.fixture
def stage(processes: Stage, django_db_blocker: DjangoDbBlocker) -> Iterator[Stage]:
    """Whole at the start; at the end, when everything is mended, rows and cluster must agree."""
    processes.whole()
    with django_db_blocker.unblock(), looking_into(processes):
        yield processes
        processes.whole()
        agreement(processes)


@pytest.fixture
def luis(stage: Stage) -> Client:
    """A member of the team `data`."""
    return stage.client("luis")


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"w{next(_numbers)}"
