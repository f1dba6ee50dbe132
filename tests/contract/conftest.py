"""The engine under contract: the simulated cluster, or the API server of TURNO_TEST_KUBECONFIG."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from portal.cluster.kube import Connection, KubeGateway, Timeouts
from portal.cluster.names import base_labels
from portal.cluster.port import JsonObject, ObjectRef
from tests.cluster.loopback import simulated

QUICK = Timeouts(connect=2, answer=5, watch_silence=5, log_silence=3)


@dataclass
class Engine:
    """One API server. `target` is what a connection of settings would say."""

    target: str
    namespace: str

    def gateway(self, manager: str = "turno-contract", timeouts: Timeouts = QUICK) -> KubeGateway:
        return KubeGateway(Connection(self.target), manager=manager, timeouts=timeouts)

    def config_map(self, name: str, **data: str) -> JsonObject:
        metadata = {"name": name, "namespace": self.namespace, "labels": base_labels("contract")}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    def ref(self, name: str, kind: str = "ConfigMap") -> ObjectRef:
        return ObjectRef(kind, name, self.namespace)


@pytest.fixture(scope="session")
def target() -> Iterator[str]:
    kubeconfig = os.environ.get("TURNO_TEST_KUBECONFIG")
    if kubeconfig:
        yield kubeconfig
        return
    with simulated() as cluster:
        yield cluster.address


@pytest.fixture
def engine(target: str) -> Iterator[Engine]:
    """A namespace of its own for every test, gone afterwards."""
    found = Engine(target, f"contract-{uuid.uuid4().hex[:10]}")
    gateway = found.gateway()
    namespace = gateway.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": found.namespace}})
    yield found
    gateway.delete(ObjectRef("Namespace", found.namespace), uid=namespace["metadata"]["uid"])
