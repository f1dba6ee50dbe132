"""The engines under contract: the simulated cluster, and the API server of TURNO_KUBECONFIG (`make test-cluster`)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.cluster.kube import Connection, KubeGateway, Timeouts
from portal.cluster.names import base_labels
from portal.cluster.port import JsonObject, ObjectRef
from portal.kernel import clock
from tests.cluster.loopback import Loopback, simulated
from tests.cluster_real.plane import kubeconfig, own_plane
from tests.contract.wire import Wire
from tests.tooling.processes import wait_until

QUICK = Timeouts(connect=2, answer=10, watch_silence=8, log_silence=5)
INSTANCE = "contract"
CONTAINER = {"name": "main", "image": "registry.turno.example/x:1"}


@dataclass
class Engine:
    """One API server, and a namespace of its own for a test. `target` is what a connection of settings would say;
    `inside` reaches into the simulated one."""

    target: str
    namespace: str
    folder: Path
    inside: Loopback | None = None
    wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        self.wire = Wire(self.target)

    @property
    def is_real(self) -> bool:
        return self.inside is None

    def gateway(self, manager: str = "turno-contract", timeouts: Timeouts = QUICK) -> KubeGateway:
        return KubeGateway(Connection(self.target), manager=manager, timeouts=timeouts)

    def config_map(self, name: str, **data: str) -> JsonObject:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._metadata(name), "data": data}

    def pod(self, name: str, **spec: object) -> JsonObject:
        """A pod that no scheduler looks at."""
        spec = {"schedulerName": "nobody", "restartPolicy": "Never", "containers": [CONTAINER], **spec}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self._metadata(name), "spec": spec}

    def ref(self, name: str, kind: str = "ConfigMap") -> ObjectRef:
        return ObjectRef(kind, name, self.namespace)

    def speaking_pod(self, name: str, *, now: list[str], before: list[str]) -> JsonObject:
        """A pod whose one container wrote `before`, was started again, and wrote `now`, one line a minute."""
        pod = self.pod(name, nodeName="cpu-1", schedulerName="default-scheduler", restartPolicy="Always")
        if self.inside is not None:
            made = self._simulated_speaker(pod, now, before)
        else:
            self._kwok_speaker(name, now, before)
            made = self.wire.create(pod).json
        wait_until(lambda: self._runs(pod), "the pod runs")
        return made

    def say_more(self, pod: JsonObject, line: str) -> None:
        """The container writes one more line."""
        if self.inside is not None:
            self._append(pod, 1, clock.now(), line)
            return
        with (self.folder / "now.log").open("a") as file:
            file.write(f"{clock.now():%Y-%m-%dT%H:%M:%S.%f}000Z stdout F {line}\n")

    @contextmanager
    def in_the_clear(self) -> Iterator[str]:
        """An address without TLS, as a proxy needs it."""
        if self.inside is not None:
            yield self.target
            return
        with own_plane().in_the_clear(self.folder) as port:
            yield f"http://127.0.0.1:{port}"

    def _metadata(self, name: str) -> JsonObject:
        return {"name": name, "namespace": self.namespace, "labels": base_labels(INSTANCE)}

    def _runs(self, pod: JsonObject) -> bool:
        return str((self.wire.get(pod).json.get("status") or {}).get("phase")) == "Running"

    def _simulated_speaker(self, pod: JsonObject, now: list[str], before: list[str]) -> JsonObject:
        made = self.wire.create(pod).json
        state = {"running": {"startedAt": "2026-01-01T01:00:00Z"}}
        ended = {
            "terminated": {"exitCode": 1, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T01:00:00Z"}
        }
        status = {
            "name": "main", "image": "x", "imageID": "", "ready": True, "restartCount": 1, "state": state,
            "lastState": ended,
        }  # fmt: skip
        self.wire.merge(pod, {"status": {"phase": "Running", "containerStatuses": [status]}}, "/status")
        for restart, lines in ((0, before), (1, now)):
            for minute, line in enumerate(lines):
                self._append(made, restart, datetime(2026, 1, 1, restart, minute, tzinfo=UTC), line)
        return made

    def _append(self, pod: JsonObject, restart: int, at: datetime, line: str) -> None:
        assert self.inside is not None
        logs, uid = self.inside.logs, pod["metadata"]["uid"]
        self.inside.call(lambda: logs.append(uid, "main", restart, at, f"{line}\n".encode()))

    def _kwok_speaker(self, name: str, now: list[str], before: list[str]) -> None:
        own_plane()  # nobody else's nodes say what a test wants
        files = {"logsFile": ("now.log", 1, now), "previousLogsFile": ("before.log", 0, before)}
        said = {}
        for key, (file, hour, lines) in files.items():
            text = (
                f"2026-01-01T{hour:02}:{minute:02}:00.000000000Z stdout F {line}\n" for minute, line in enumerate(lines)
            )
            (self.folder / file).write_text("".join(text))
            said[key] = str(self.folder / file)
        logs = {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "Logs",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"logs": [{"containers": ["main"], "follow": True, **said}]},
        }
        answer = self.wire.call("POST", f"/apis/kwok.x-k8s.io/v1alpha1/namespaces/{self.namespace}/logs", logs)
        assert answer.status == 201, answer.text


@pytest.fixture(scope="session", params=["simulated", pytest.param("kubernetes", marks=pytest.mark.cluster)])
def target(request: pytest.FixtureRequest) -> Iterator[tuple[str, Loopback | None]]:
    """How the engine is reached, and the simulated one's inside."""
    if request.param == "kubernetes":
        yield kubeconfig(), None
        return
    with simulated() as cluster:
        yield cluster.address, cluster


@pytest.fixture
def engine(target: tuple[str, Loopback | None], tmp_path: Path) -> Iterator[Engine]:
    """A namespace of its own for every test, gone afterwards."""
    found = Engine(target[0], f"contract-{uuid.uuid4().hex[:10]}", tmp_path, target[1])
    gateway = found.gateway()
    metadata = {"name": found.namespace, "labels": base_labels(INSTANCE)}
    namespace = gateway.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    yield found
    gateway.delete(ObjectRef("Namespace", found.namespace), uid=namespace["metadata"]["uid"])


@pytest.fixture
def forget_history(engine: Engine) -> Callable[[], None]:
    """The server forgets what is older than now, as etcd's compaction makes it."""
    if engine.inside is not None:
        inside = engine.inside
        return lambda: inside.call(inside.store.forget_history)
    return own_plane().compact


def eventually(condition: Callable[[], object], what: str) -> None:
    """Controllers of a real cluster take their time."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, f"not within a minute: {what}"
        time.sleep(0.2)
