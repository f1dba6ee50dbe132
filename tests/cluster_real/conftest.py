"""What the tests of this folder share: the API as it is, and a team's namespace on it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tenants.manifests import SpaceSpec, space
from tests.cluster_real.plane import kubeconfig
from tests.contract.wire import Wire

INSTANCE = "suite"


@pytest.fixture(scope="session")
def wire() -> Wire:
    return Wire(kubeconfig(), "turno-suite")


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
