"""Real `manage.py watch` and `manage.py logs` processes on a database file, beside a simulated API server."""

from __future__ import annotations

import json
import signal
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from portal.cluster import names
from portal.cluster.port import JsonObject
from tests.cluster.loopback import Loopback, simulated
from tests.faultproxy.proxy import FaultProxy
from tests.tooling.processes import ROOT, Running, wait_until

SECRET_KEY = "of these processes alone, and worth nothing anywhere"
MANAGE = [sys.executable, str(ROOT / "manage.py")]
LEASE = 10.0


@dataclass
class Stand:
    """The database, the server, and whatever processes a test starts."""

    folder: Path
    server: Loopback
    proxy: FaultProxy
    running: list[Running] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "TURNO_SECRET_KEY": SECRET_KEY,
            "TURNO_DATABASE_URL": f"sqlite:///{self.folder}/turno.sqlite3",
            "TURNO_CLUSTER_CONNECTIONS": f"default={self.proxy.address}",
            "TURNO_LOG_LEVEL": "INFO",
        }

    def start(self, command: str) -> Running:
        output = self.folder / f"{command}-{len(self.running)}.log"
        found = Running([*MANAGE, command], output, self.environment)
        self.running.append(found)
        return found

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.folder / "turno.sqlite3", timeout=20) as database:
            found = database.execute(sql, values).fetchall()
        database.close()
        return found

    def pause(self, process: Running) -> None:
        """Stops a process where it holds no lock of the database file: on SQLite that would stop everybody."""
        wait_until(lambda: self._paused(process), "paused outside of a transaction")

    def _paused(self, process: Running) -> bool:
        process.signal(signal.SIGSTOP)
        database = sqlite3.connect(self.folder / "turno.sqlite3", timeout=0.2)
        try:
            database.execute("begin immediate")
        except sqlite3.OperationalError:
            process.signal(signal.SIGCONT)
            return False
        finally:
            database.close()
        return True

    def mirrored(self) -> dict[str, str]:
        """ConfigMaps by name, with their note."""
        found = self.rows("select name, data from cluster_mirrorobject where kind = 'ConfigMap'")
        return {name: json.loads(data)["metadata"].get("annotations", {}).get("note", "") for name, data in found}

    def add(self, name: str) -> JsonObject:
        labels = names.base_labels("turno")
        manifest = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "a", "labels": labels},
        }
        return self.server.call(lambda: self.server.store.create(manifest))

    def annotate(self, name: str, note: str) -> None:
        def change(obj: JsonObject) -> None:
            obj["metadata"]["annotations"] = {"note": note}

        self.server.call(lambda: self.server.store.mutate("ConfigMap", "a", name, change))

    def sees(self, wanted: dict[str, str], within: float = 60.0) -> None:
        wait_until(lambda: self.mirrored() == wanted, f"the mirror shows {wanted}", within)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file with one cluster, to be copied."""
    folder = tmp_path_factory.mktemp("database")
    environment = {"TURNO_SECRET_KEY": SECRET_KEY, "TURNO_DATABASE_URL": f"sqlite:///{folder}/turno.sqlite3"}
    row = "from portal.cluster.models import Cluster; Cluster.objects.create(name='demo')"
    for number, command in enumerate((["migrate", "-v0"], ["shell", "-v0", "-c", row])):
        made = Running([*MANAGE, *command], folder / f"{number}.log", environment)
        assert made.wait(120) == 0, made.said
    return folder / "turno.sqlite3"


@pytest.fixture
def stand(migrated: Path, tmp_path: Path) -> Iterator[Stand]:
    (tmp_path / "turno.sqlite3").write_bytes(migrated.read_bytes())
    with simulated() as server:
        server.call(lambda: server.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
        with FaultProxy(server.address) as proxy:
            found = Stand(tmp_path, server, proxy)
            yield found
            for each in found.running:
                each.end()
