"""The stage of the jobs' engine: the team `data` with room on a fresh simulated cluster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from tests.cluster.loopback import simulated
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the state of a furnished cluster is kept from the first stage on: the next ones start from it."""
    return tmp_path_factory.mktemp("furnished") / "state"


@pytest.fixture
def stage(room: Lab, frozen: FrozenClock, settings: Settings, furnished: Path, tmp_path: Path) -> Iterator[Stage]:
    """Namespace, queue, flavors and priorities are on the cluster, and everything is at rest."""
    jobs.with_gateway(room.cluster)
    state = tmp_path / "state"
    if furnished.exists():
        shutil.copy(furnished, state)
    with simulated(state=state) as engine:
        settings.CLUSTER_CONNECTIONS = {"default": engine.address}
        found = Stage.build(room.cluster, engine, frozen)
        if furnished.exists():
            found.settle()
        else:
            found.furnish()
            shutil.copy(state, furnished)
        yield found
