"""A log reader that is killed in the middle of a log: the next one goes on, and every line is there once."""

from __future__ import annotations

import signal
import uuid
from datetime import UTC, datetime, timedelta

from portal.cluster.port import JsonObject
from tests.cluster.objects import ours
from tests.cluster.processes.conftest import LEASE, Stand
from tests.tooling.processes import wait_until

WORKLOAD = uuid.UUID(int=7)
START = datetime(2026, 12, 1, 9, tzinfo=UTC)
RUNNING = {"running": {"startedAt": "2026-12-01T09:00:00Z"}}
ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


def pod(stand: Stand) -> JsonObject:
    manifest: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train-0", "namespace": "a", "labels": ours(WORKLOAD, 1)},
        "spec": {"nodeName": "gpu-1", "containers": [{"name": "main", "image": "x"}]},
    }
    made = stand.server.call(lambda: stand.server.store.create(manifest))
    say_state(stand, RUNNING)
    return made


def say_state(stand: Stand, state: JsonObject) -> None:
    def change(obj: JsonObject) -> None:
        obj["status"] = {
            "phase": "Running",
            "containerStatuses": [{"name": "main", "restartCount": 0, "state": state, "lastState": {}}],
        }

    stand.server.call(lambda: stand.server.store.mutate("Pod", "a", "train-0", change, status=True))


def write(stand: Stand, uid: str, numbers: range) -> None:
    for second in sorted({number // 500 for number in numbers}):
        lines = "".join(f"{number}\n" for number in numbers if number // 500 == second)
        at = START + timedelta(seconds=second)
        stand.server.call(lambda at=at, lines=lines: stand.server.logs.append(uid, "main", 0, at, lines.encode()))


def text(stand: Stand) -> str:
    return "".join(row[0] for row in stand.rows("select text from cluster_logchunk order by seq"))


def somebody_looks(stand: Stand) -> None:
    stand.rows("insert into cluster_loginterest (workload_id, until) values (?, ?)", WORKLOAD.hex, "2099-01-01")


def test_a_killed_log_reader_is_followed_by_one_that_goes_on(stand: Stand) -> None:
    uid = pod(stand)["metadata"]["uid"]
    stand.start("watch")
    first = stand.start("logs")
    somebody_looks(stand)
    write(stand, uid, range(2200))
    wait_until(lambda: text(stand).endswith("\n2199\n"), "the first lines")
    first.signal(signal.SIGKILL)
    write(stand, uid, range(2200, 5000))
    stand.server.call(lambda: stand.server.logs.end(uid, "main", 0))
    say_state(stand, ENDED)
    stand.start("logs")

    wait_until(lambda: stand.rows("select 1 from cluster_logstream where complete"), "the whole log", 60 + LEASE)
    assert text(stand) == "".join(f"{number}\n" for number in range(5000))
    assert stand.rows("select gap, dropped_bytes from cluster_logstream") == [("", 0)]
