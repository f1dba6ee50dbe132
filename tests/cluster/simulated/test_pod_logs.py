"""The log subresource: which run, which lines, and the refusals."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.exchange import Request
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.conftest import Asker

AT = datetime(2026, 12, 1, 9, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def pod(ask: Asker) -> Obj:
    return make_pod(ask, restarts=1, state={"running": {}})


def make_pod(ask: Asker, *, restarts: int = 0, containers: tuple[str, ...] = ("main",), **parts: Any) -> Obj:
    state = parts.get("state")
    statuses = [] if state is None else [{"name": containers[0], "restartCount": restarts, "state": state}]
    spec = {"nodeName": parts.get("node", "n"), "containers": [{"name": name, "image": "x"} for name in containers]}
    body: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "w1"}, "spec": spec}
    return ask.store.create({**body, "status": {"phase": "Running", "containerStatuses": statuses}})


def say(ask: Asker, pod: Obj, text: bytes, *, restart: int = 1, after: float = 0) -> None:
    ask.logs.append(pod["metadata"]["uid"], "main", restart, AT + timedelta(seconds=after), text)


def read(ask: Asker, **query: str) -> bytes:
    async def whole() -> bytes:
        response = ask.api.answer(Request("GET", "/api/v1/namespaces/w1/pods/p/log", query, {}))
        assert response.stream is not None
        return b"".join([piece async for piece in response.stream])

    return asyncio.run(whole())


def refusal(ask: Asker, **query: str) -> str:
    with pytest.raises(ApiError) as caught:
        read(ask, **query)
    assert caught.value.status == 400
    return caught.value.message


def test_log_of_the_present_run(ask: Asker, pod: Obj) -> None:
    say(ask, pod, b"before\n", restart=0)
    say(ask, pod, b"one\ntwo\n")

    assert read(ask) == b"one\ntwo\n"
    assert read(ask, previous="true") == b"before\n"


def test_tail_since_and_limit(ask: Asker, pod: Obj) -> None:
    for second in range(5):
        say(ask, pod, f"{second}\n".encode(), after=second)

    assert read(ask, tailLines="2") == b"3\n4\n"
    assert read(ask, tailLines="0") == b""
    assert read(ask, tailLines="9") == b"0\n1\n2\n3\n4\n"
    assert read(ask, sinceTime="2026-12-01T09:00:03Z") == b"3\n4\n"
    assert read(ask, limitBytes="3") == b"0\n1"


def test_time_stamps_are_in_nanoseconds(ask: Asker, pod: Obj) -> None:
    say(ask, pod, b"one\n")

    assert read(ask, timestamps="true") == b"2026-12-01T09:00:00.123456000Z one\n"


def test_bytes_are_kept_as_they_were_written(ask: Asker, pod: Obj) -> None:
    say(ask, pod, b"50%\r100%\r\n\xff\xfe\n")

    assert read(ask) == b"50%\r100%\r\n\xff\xfe\n"


def test_line_is_whole_before_it_is_shown(ask: Asker, pod: Obj) -> None:
    say(ask, pod, b"one\nhal")
    assert read(ask) == b"one\n"
    say(ask, pod, b"f\n", after=9)
    assert read(ask, timestamps="true").endswith(b"Z half\n")

    say(ask, pod, b"last words")
    ask.logs.end(pod["metadata"]["uid"], "main", 1)
    assert read(ask) == b"one\nhalf\nlast words"


def test_container_must_be_named_among_several(ask: Asker) -> None:
    make_pod(ask, containers=("main", "side"), state={"running": {}})

    assert refusal(ask) == "a container name must be specified for pod p, choose one of: [main side]"
    assert read(ask, container="main") == b""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, 'container "main" in pod "p" is waiting to start: ContainerCreating'),
        (
            {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
            'container "main" in pod "p" is waiting to start: trying and failing to pull image',
        ),
        (
            {"state": {"waiting": {"reason": "CreateContainerConfigError"}}},
            'container "main" in pod "p" is waiting to start: CreateContainerConfigError',
        ),
    ],
)
def test_pod_that_has_not_started(ask: Asker, parts: dict[str, Any], message: str) -> None:
    make_pod(ask, **parts)

    assert refusal(ask) == message


def test_run_before_the_first_is_not_there(ask: Asker) -> None:
    make_pod(ask, state={"running": {}})

    assert refusal(ask, previous="true") == 'previous terminated container "main" in pod "p" not found'


def test_following_a_pod_that_has_ended_ends(ask: Asker) -> None:
    pod = make_pod(ask, state={"terminated": {"exitCode": 0}})
    say(ask, pod, b"done\n", restart=0)

    assert read(ask, follow="true") == b"done\n"


def test_following_ends_when_the_pod_is_gone(ask: Asker, pod: Obj) -> None:
    say(ask, pod, b"one\n")

    async def follow() -> list[bytes]:
        response = ask.api.answer(Request("GET", "/api/v1/namespaces/w1/pods/p/log", {"follow": "true"}, {}))
        assert response.stream is not None
        pieces = [await anext(response.stream)]
        ask.logs.forget(pod["metadata"]["uid"])
        return pieces + [piece async for piece in response.stream]

    assert asyncio.run(asyncio.wait_for(follow(), 5)) == [b"one\n"]


@pytest.mark.parametrize("query", [{"tailLines": "x"}, {"sinceTime": "yesterday"}, {"limitBytes": "-1"}])
def test_option_that_cannot_be_read(ask: Asker, pod: Obj, query: dict[str, str]) -> None:
    refusal(ask, **query)


def test_logs_outlive_a_restart_of_the_cluster(tmp_path: Path) -> None:
    book = LogBook(tmp_path / "logs")
    book.append("uid-1", "main", 0, AT, b"one\r\n\xff\nrest")
    book.end("uid-1", "main", 0)
    book.append("uid-2", "main", 0, AT, b"gone\n")
    book.forget("uid-2")

    lines, _ = LogBook(tmp_path / "logs").read("uid-1", "main", 0)

    assert [(line.time, line.text) for line in lines] == [(AT, b"one\r\n"), (AT, b"\xff\n"), (AT, b"rest")]
    assert not LogBook(tmp_path / "logs").has("uid-2", "main", 0)


def test_only_the_newest_of_a_long_log_is_kept() -> None:
    book = LogBook()
    for number in range(11):
        book.append("uid", "main", 0, AT, str(number).encode() + b"x" * 2**20 + b"\n")

    lines, position = book.read("uid", "main", 0)

    assert [line.text[:2] for line in lines] == [b"2x", b"3x", b"4x", b"5x", b"6x", b"7x", b"8x", b"9x", b"10"]
    assert position == 11
    assert book.read("uid", "main", 0, position) == ([], 11)
