"""How a process reaches a cluster: by name from its settings, with credentials that are read again when refused."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from portal.cluster import factory, kube
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.models import Cluster
from portal.cluster.port import ObjectRef, ServerTrouble, TooManyRequests, Unauthorized, Unreachable

REF = ObjectRef("ConfigMap", "a", "x")


class ApiServer(BaseHTTPRequestHandler):
    """Takes one token, and keeps what it was asked."""

    protocol_version = "HTTP/1.1"
    token: str
    asked: list[str]
    answers: list[tuple[int, dict[str, str], bytes]]

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Authorization", ""))
        if self.answers:
            self.answer(*self.answers.pop(0))
        elif self.headers.get("Authorization") == f"Bearer {self.token}":
            self.answer(200, {}, json.dumps({"kind": "ConfigMap", "metadata": {"name": "a"}}).encode())
        else:
            self.answer(401, {}, b'{"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def server() -> Iterator[Any]:
    handler = type("Handler", (ApiServer,), {"token": "first", "asked": [], "answers": []})
    serving = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    serving.daemon_threads = True
    thread = threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    handler.address = f"http://127.0.0.1:{serving.server_address[1]}"  # type: ignore[attr-defined]
    yield handler
    serving.shutdown()
    serving.server_close()
    thread.join(5)


def kubeconfig(path: Path, address: str, token: str) -> Path:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": address}}],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )
    )
    return path


def gateway(target: object) -> KubeGateway:
    return KubeGateway(Connection(str(target)), manager="turno-turno")


def test_an_address_alone_carries_no_credentials(server: Any) -> None:
    server.answers.append((200, {}, b'{"metadata": {"name": "a"}}'))

    assert gateway(server.address).get(REF) == {"metadata": {"name": "a"}}
    assert server.asked == [""]


def test_a_kubeconfigs_token_is_sent(server: Any, tmp_path: Path) -> None:
    assert gateway(kubeconfig(tmp_path / "config", server.address, "first")).get(REF) is not None
    assert server.asked == ["Bearer first"]


def test_a_rotated_token_is_read_again_after_the_refusal(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube, "_RENEW_EVERY", 0.0)
    config = kubeconfig(tmp_path / "config", server.address, "first")
    door = gateway(config)
    assert door.get(REF) is not None
    server.token = "second"
    kubeconfig(config, server.address, "second")

    with pytest.raises(Unauthorized) as refused:
        door.get(REF)

    assert refused.value.retryable
    assert door.get(REF) is not None


def test_refused_credentials_are_not_read_again_in_a_storm(server: Any, tmp_path: Path) -> None:
    connection = Connection(str(kubeconfig(tmp_path / "config", server.address, "wrong")))
    door = KubeGateway(connection, manager="turno-turno")
    client = connection.client()
    for _ in range(3):
        with pytest.raises(Unauthorized):
            door.get(REF)

    assert connection.client() is client


@pytest.mark.parametrize("target", ["/nowhere/config", "in-cluster"])
def test_credentials_that_cannot_be_read_are_unreachable_with_the_reason(target: str) -> None:
    with pytest.raises(Unreachable, match="cannot read the cluster's credentials"):
        gateway(target).get(REF)


def test_a_refused_write_is_not_sent_again_by_itself(server: Any) -> None:
    server.answers += [(429, {"Retry-After": "1"}, b"{}"), (503, {"Retry-After": "1"}, b"{}")]
    door = gateway(server.address)
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}

    with pytest.raises(TooManyRequests) as too_many:
        door.create(manifest)
    with pytest.raises(ServerTrouble):
        door.create(manifest)

    assert too_many.value.retry_after == 1.0
    assert len(server.asked) == 2


def test_a_refused_read_is_not_sent_again_by_itself_either(server: Any) -> None:
    server.answers.append((429, {"Retry-After": "1"}, b"{}"))

    with pytest.raises(TooManyRequests):
        gateway(server.address).get(REF)

    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"[]", b""])
def test_an_answer_that_is_no_object_is_the_servers_trouble(server: Any, body: bytes) -> None:
    server.answers.append((200, {}, body))

    with pytest.raises(ServerTrouble, match="the answer is not"):
        gateway(server.address).get(REF)


def test_a_name_cannot_leave_its_path(server: Any) -> None:
    server.answers.append((404, {}, b"{}"))

    assert gateway(server.address).get(ObjectRef("ConfigMap", "../../secrets/b?x=1", "x")) is None


def test_a_process_without_the_connection_says_so_by_name(settings: Settings) -> None:
    settings.CLUSTER_CONNECTIONS = {}

    with pytest.raises(ImproperlyConfigured, match=r"TURNO_CLUSTER_CONNECTIONS .*'default' \(cluster demo\)"):
        factory.gateway(Cluster(name="demo"))


def test_a_process_connects_to_a_cluster_once(settings: Settings, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory, "_connections", {})
    settings.CLUSTER_CONNECTIONS = {"default": server.address}
    server.answers += [(404, {}, b"{}")] * 2
    for _ in range(2):
        factory.gateway(Cluster(name="demo")).get(REF)

    assert len(factory._connections) == 1
