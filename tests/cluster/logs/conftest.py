"""A simulated API server without controllers, and the scene upon it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.logs.desk import Scene, new_desk
from tests.cluster.loopback import simulated
from tests.factories.cluster import cluster


@pytest.fixture
def scene(db: None) -> Iterator[Scene]:
    with simulated() as server:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "turno-data"}}
        server.call(lambda: server.store.create(namespace))
        on = cluster()
        found = Scene(on, server, new_desk(on, server.address))
        yield found
        found.desk.close()
