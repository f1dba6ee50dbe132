"""A pod on a simulated API server with a log, and the desk that reads it; the test's thread turns the desk."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from portal.cluster import logs
from portal.cluster.capture.reader import Desk
from portal.cluster.kube import Connection, KubeGateway, Timeouts
from portal.cluster.mirror import Mirror, entry
from portal.cluster.models import Cluster
from portal.cluster.port import JsonObject
from portal.kernel import clock
from tests.cluster.loopback import Loopback
from tests.cluster.objects import ours

START = datetime(2026, 12, 1, 9, tzinfo=UTC)
QUICK = Timeouts(connect=2, answer=3, watch_silence=1.0, log_silence=1.0)
# For logs that take a busy machine a while.
PATIENT = Timeouts(connect=10, answer=20, watch_silence=10, log_silence=20)
RUNNING = {"running": {"startedAt": "2026-12-01T09:00:00Z"}}
ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def new_desk(on: Cluster, address: str, timeouts: Timeouts = QUICK) -> Desk:
    return Desk(on, KubeGateway(Connection(address), manager="turno-turno", timeouts=timeouts), lambda: None)


@dataclass
class Scene:
    """One cluster with its desk. `desk` may be replaced: that is the process restarted."""

    on: Cluster
    server: Loopback
    desk: Desk
    workload_id: uuid.UUID = field(default_factory=uuid.uuid4)

    def pod(self, name: str = "train-0", *, run: int = 1, containers: tuple[str, ...] = ("main",)) -> JsonObject:
        """A running pod, on the server and in the mirror."""
        manifest: JsonObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "turno-data", "labels": ours(self.workload_id, run)},
            "spec": {"nodeName": "gpu-1", "containers": [{"name": each, "image": "x"} for each in containers]},
        }
        made = self.server.call(lambda: self.server.store.create(manifest))
        for each in containers:
            self.say(made, "", container=each)  # a running container has a log, however little it has said
        return self.status(made, RUNNING, containers=containers)

    def status(
        self,
        pod: JsonObject,
        state: dict[str, Any],
        *,
        restart: int = 0,
        last: dict[str, Any] | None = None,
        containers: tuple[str, ...] = ("main",),
        **said: Any,
    ) -> JsonObject:
        """What the kubelet says of all the pod's containers."""
        statuses = [
            {"name": each, "restartCount": restart, "state": state, "lastState": last or {}} for each in containers
        ]

        def change(obj: JsonObject) -> None:
            obj["status"] = {"phase": "Running", "containerStatuses": statuses, **said}

        name = pod["metadata"]["name"]
        found = self.server.call(lambda: self.server.store.mutate("Pod", "turno-data", name, change, status=True))
        assert found is not None
        return self.mirror(found)

    def mirror(self, pod: JsonObject, *, gone: bool = False) -> JsonObject:
        Mirror(self.on, lambda: None).write([entry(pod, "turno", gone=gone)], {})
        return pod

    def remove(self, pod: JsonObject) -> None:
        """The pod is gone, from the server and from the mirror; its log went with it."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self.server.call(lambda: self.server.store.remove("Pod", "turno-data", name))
        self.server.call(lambda: self.server.logs.forget(uid))
        self.mirror(pod, gone=True)

    def say(
        self, pod: JsonObject, data: str | bytes, *, second: float = 0, container: str = "main", life: int = 0
    ) -> None:
        raw = data.encode() if isinstance(data, str) else data
        at, uid = START + timedelta(seconds=second), pod["metadata"]["uid"]
        self.server.call(lambda: self.server.logs.append(uid, container, life, at, raw))

    def end(self, pod: JsonObject, *, container: str = "main", life: int = 0) -> None:
        uid = pod["metadata"]["uid"]
        self.server.call(lambda: self.server.logs.end(uid, container, life))

    def finish(self, pod: JsonObject, **said: Any) -> JsonObject:
        """The container ends for good."""
        self.end(pod)
        return self.status(pod, ENDED, **said)

    def look(self) -> None:
        logs.interest(self.workload_id)

    def read(self, run: int = 1, tail: int = 100_000, **options: Any) -> logs.LogText:
        return logs.read(self.workload_id, run=run, tail=tail, **options)

    def until(self, met: Callable[[], object], *, seconds: float = 15.0) -> None:
        deadline = clock.monotonic() + seconds
        while not met():
            assert clock.monotonic() < deadline, "the log did not get there in time"
            self.desk.turn()
