"""The real cluster of `make test-cluster`: any that TURNO_KUBECONFIG names, and what may be broken of our own one."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deploy.control_plane.building import Built
from deploy.control_plane.building import cache as cache_folder
from deploy.control_plane.places import Places
from deploy.control_plane.plane import Plane
from tests.tooling.processes import Running, free_port, listens, wait_until


def kubeconfig() -> str:
    """The path of the cluster's kubeconfig."""
    found = os.environ.get("TURNO_KUBECONFIG")
    if not found:
        pytest.fail("TURNO_KUBECONFIG names no cluster: make test-cluster starts one")
    return found


@cache
def own_plane() -> OwnPlane:
    """The control plane that this run started. A cluster that somebody gave us is not broken."""
    folder = os.environ.get("TURNO_CLUSTER_FOLDER")
    known = Places(Path(folder)).recall() if folder else None
    if folder is None or known is None:
        pytest.skip("this cluster is somebody else's: it is not stopped, and nothing of it is forgotten")
    return OwnPlane(Built(cache_folder() / known[1]), Places(Path(folder)), known[0])


class OwnPlane:
    """A control plane whose parts may be stopped."""

    def __init__(self, built: Built, places: Places, ports: Any) -> None:
        self._built = built
        self.plane = Plane.of(built, places, ports)

    def kubectl(self, *arguments: str, given: Any = None) -> str:
        return self.plane.kubernetes.kubectl(*arguments, given=None if given is None else json.dumps(given))

    @contextmanager
    def in_the_clear(self, logs: Path) -> Iterator[int]:
        """The API without TLS, as a fault proxy needs it; yields the port."""
        port = free_port()
        program = str(self._built.program("kubectl"))
        told = ["--kubeconfig", str(self.plane.places.kubeconfig), "proxy", "--port", str(port)]
        proxy = Running([program, *told, "--accept-hosts", ".*"], logs / "kubectl-proxy.log")
        try:
            wait_until(lambda: listens(port), "kubectl's proxy listens")
            yield port
        finally:
            proxy.end()

    @contextmanager
    def kueue_is_down(self) -> Iterator[None]:
        """The manager is not there: its webhooks refuse everything."""
        self.plane.kueue.stop()
        try:
            yield
        finally:
            self.plane.kueue.start()

    @contextmanager
    def api_is_down(self) -> Iterator[None]:
        """Nobody answers; then the same cluster with the same objects, and a new history of changes."""
        self.plane.kueue.stop()  # without its API server it may spin for ever
        self.plane.kubernetes.stop()
        try:
            yield
        finally:
            self.plane.kubernetes.start()
            self.plane.kueue.start()

    def compact(self) -> None:
        """etcd forgets every revision before the present one."""
        now = self._etcd("range", {"key": "AA=="})["header"]["revision"]
        try:
            self._etcd("compaction", {"revision": now, "physical": True})
        except urllib.error.HTTPError as error:
            words = error.read().decode()
            assert "has been compacted" in words, words

    def _etcd(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        address = f"http://127.0.0.1:{self.plane.ports.etcd}/v3/kv/{verb}"
        request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
