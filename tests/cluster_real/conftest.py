"""What the tests of this folder share: the API as it is, and a team's namespace on it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import count

import pytest
from pytest_django import DjangoDbBlocker

from portal.cluster.kube import Connection, KubeGateway
from tenants.manifests import SpaceSpec, space
from tests.cluster_real.plane import kubeconfig, own_plane
from tests.cluster_real.stage import SOON, RealStage, real_turno
from tests.contract.wire import Wire
from tests.faults.agreement import agreement
from tests.faults.client import Client
from tests.faults.stage import looking_into

INSTANCE = "suite"
_numbers = count(1)


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire(kubeconfig(), "turno-suite")


@pytest.fixture(scope="session")
def served() -> frozenset[str]:
    """The kinds that this cluster serves."""
    kinds = KubeGateway(Connection(kubeconfig()), manager="turno-suite").discover().kinds.values()
    return frozenset().union(*kinds)


def space_spec(slug: str, **fields: object) -> SpaceSpec:
    values: dict[str, object] = {
        "space_id": uuid.uuid4(),
        "tenant": slug,
        "namespace": f"turno-{slug}",
        "instance": INSTANCE,
        "prefix": "turno-",
        "portal_namespace": "turno-system",
        "ingress_namespaces": ("turno-gateway", "monitoring"),
        "dns_cidrs": ("169.254.20.10/32",),
        "api_server_cidrs": ("203.0.113.7/32", "2001:db8::7/128"),
    }
    return SpaceSpec(**{**values, **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def team(wire: Wire) -> Iterator[SpaceSpec]:
    """A team's namespace as Turno makes it, with everything in it, gone afterwards."""
    spec = space_spec(f"suite-{uuid.uuid4().hex[:8]}")
    namespace, *inside = space(spec)
    made = wire.apply(namespace)
    assert made.status == 201, made.text
    for one in inside:
        assert wire.apply(one).status == 201
    yield spec
    wire.delete(namespace)


@pytest.fixture(scope="package")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealStage]:
    with real_turno(tmp_path_factory.mktemp("real"), own_plane()) as found:
        yield found


@pytest.fixture
def stage(processes: RealStage, django_db_blocker: DjangoDbBlocker) -> Iterator[RealStage]:
    """Whole at the start; at the end, when everything is mended, rows and cluster must agree."""
    processes.whole()
    with django_db_blocker.unblock(), looking_into(processes):
        yield processes
        processes.whole()
        processes.clear()
        agreement(processes, within=SOON)


@pytest.fixture
def luis(stage: RealStage) -> Client:
    """A member of the team `data`."""
    return stage.client("luis")


@pytest.fixture
def pablo(stage: RealStage) -> Client:
    """A member of the team `training`, which may borrow a card."""
    return stage.client("pablo")


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"r{next(_numbers)}"
