"""A data plane on loopback ports, in front of a cluster with a moved clock, and a portal that says yes or no."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from portal.cluster.simulated.dataplane import DataPlane
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.server import application_server, listen
from tests.cluster.simulated.controllers.conftest import NAMESPACE, Cluster

KEY = "sk-turno-test"
NOTEBOOK_HOST = "lab-1234567890.localhost"
NOTEBOOK, ENDPOINT = "11111111-0000-7000-8000-000000000001", "11111111-0000-7000-8000-000000000002"


@dataclass
class Portal:
    """Answers `/connect/check/` as it is told, and remembers what it was asked."""

    status: int = 200
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    asked: list[dict[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append({name.decode(): value.decode() for name, value in scope["headers"]} | {"path": scope["path"]})
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")


@dataclass
class Plane:
    """The ports, the cluster behind, the portal beside."""

    cluster: Cluster
    portal: Portal
    port: int

    async def ask(
        self,
        path: str,
        *,
        host: str = "",
        method: str = "GET",
        body: bytes = b"",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or '127.0.0.1'}:{self.port}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        writer.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        await writer.drain()
        raw = await reader.read()
        writer.close()
        await writer.wait_closed()
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *named = head.decode().split("\r\n")
        pairs = [tuple(line.split(": ", 1)) for line in named]
        return Answer(int(first.split()[1]), [(name.lower(), value) for name, value in pairs], rest)


@asynccontextmanager
async def served(application: Any) -> AsyncIterator[int]:
    """The port on which an application answers."""
    sock, server = listen("127.0.0.1", 0), application_server(application)
    sock.listen()
    task = asyncio.ensure_future(server.serve([sock]))
    yield sock.getsockname()[1]
    server.should_exit = True
    await task
    sock.close()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.store.close()


@pytest.fixture
async def plane(cluster: Cluster) -> AsyncIterator[Plane]:
    portal = Portal()
    async with served(portal) as beside:
        data = DataPlane(cluster.manager, f"http://127.0.0.1:{beside}", recheck_seconds=0.05)
        async with served(data) as port:
            yield Plane(cluster, portal, port)


def _labels(workload: str, kind: str) -> dict[str, str]:
    return {"turno.dev/workload": workload, "turno.dev/kind": kind}


def _route(name: str, labels: dict[str, str], rule: Obj, **spec: Any) -> Obj:
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
    whole = {"rules": [{**rule, "backendRefs": [{"kind": "Service", "name": name, "port": 80}]}], **spec}
    return {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta, "spec": whole}


def _service(name: str, labels: dict[str, str]) -> Obj:
    spec = {"selector": {"turno.dev/workload": labels["turno.dev/workload"]}, "ports": [{"port": 80}]}
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def _owner(kind: str, name: str, labels: dict[str, str], container: Obj, **spec: Any) -> Obj:
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    whole = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template, **spec}
    meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": whole}


@pytest.fixture
def notebook(cluster: Cluster) -> Callable[[], None]:
    """Publishes a notebook; the cluster still has to start it."""

    def publish() -> None:
        labels = _labels(NOTEBOOK, "notebook")
        auth = {"type": "ExtensionRef", "extensionRef": {"group": "x", "kind": "Auth", "name": "turno"}}
        rule = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "filters": [auth]}
        cluster.store.create(_route("lab-1234567890", labels, rule, hostnames=[NOTEBOOK_HOST]))
        cluster.store.create(_service("lab-1234567890", labels))
        probe = {"httpGet": {"path": "/api", "port": 8888}}
        container = {"name": "main", "image": "jupyter", "command": ["jupyter", "lab"], "readinessProbe": probe}
        cluster.store.create(
            _owner("StatefulSet", "lab-1234567890-r1", labels, container, serviceName="lab-1234567890")
        )

    return publish


@pytest.fixture
def endpoint(cluster: Cluster) -> Callable[[], None]:
    """Publishes a model server with its key."""

    def publish() -> None:
        labels = _labels(ENDPOINT, "endpoint")
        cut = {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}}
        rule = {"matches": [{"path": {"type": "PathPrefix", "value": f"/e/{ENDPOINT}"}}], "filters": [cut]}
        cluster.store.create(_route("llm-1234567890", labels, rule))
        cluster.store.create(_service("llm-1234567890", labels))
        meta = {"name": "llm-1234567890", "namespace": NAMESPACE, "labels": labels}
        data = {"key": base64.b64encode(KEY.encode()).decode()}
        cluster.store.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
        container = {
            "name": "main",
            "image": "vllm/vllm-openai",
            "command": ["vllm", "serve"],
            "args": ["meta-llama/Llama-3.1-8B", "--port", "8000"],
            "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
        }
        cluster.store.create(_owner("Deployment", "llm-1234567890-r1", labels, container))

    return publish
