"""The stage of the jobs' engine: the team `data` with room on a fresh simulated cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from tests.cluster.loopback import simulated
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage


@pytest.fixture
def stage(room: Lab, frozen: FrozenClock, settings: Settings) -> Iterator[Stage]:
    """Everything furnished and at rest."""
    jobs.with_gateway(room.cluster)
    with simulated() as engine:
        settings.CLUSTER_CONNECTIONS = {"default": engine.address}
        found = Stage.build(room.cluster, engine, frozen)
        found.furnish()
        yield found
