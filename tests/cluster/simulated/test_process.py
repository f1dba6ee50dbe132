"""`manage.py simulated_cluster` as a process: its start, its restart after a kill, and its refusals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from portal.cluster.simulated.server import listen

ROOT = Path(__file__).parents[3]
MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """One start of the command on the given ports."""

    def __init__(self, ports: tuple[int, int, int], state: Path) -> None:
        options = dict(zip(("--port", "--data-port", "--control-port"), map(str, ports), strict=True))
        pairs = [part for pair in {**options, "--state": str(state)}.items() for part in pair]
        self.url = f"http://127.0.0.1:{ports[0]}"
        # No database is there: the command must not ask for one.
        environment = {**os.environ, "TURNO_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
        command = [sys.executable, "manage.py", "simulated_cluster", *pairs]
        self.popen = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.call("GET", "/version")
            except OSError:
                assert self.popen.poll() is None, self.popen.communicate()[0]
                assert time.monotonic() < deadline, "the cluster did not start"
                time.sleep(0.05)
            else:
                return

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.loads(response.read())

    def end(self, number: int) -> tuple[int, str]:
        self.popen.send_signal(number)
        output = self.popen.communicate(timeout=PATIENCE)[0]
        return self.popen.returncode, output


@contextmanager
def started(ports: tuple[int, int, int], state: Path) -> Iterator[Process]:
    process = Process(ports, state)
    try:
        process.wait_until_ready()
        yield process
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
            process.popen.communicate()


@pytest.fixture
def ports() -> tuple[int, int, int]:
    return free_port(), free_port(), free_port()


def test_killed_cluster_comes_back_as_it_was(ports: tuple[int, int, int], tmp_path: Path) -> None:
    state = tmp_path / "cluster.jsonl"
    with started(ports, state) as first:
        made = first.call("POST", MAPS, {"metadata": {"name": "c"}, "data": {"a": "1"}})
        first.end(signal.SIGKILL)

    with started(ports, state) as second:
        listed = second.call("GET", MAPS)
        kept = [item for item in listed["items"] if item["metadata"]["name"] == "c"]
        assert [item["metadata"] for item in kept] == [made["metadata"]]
        assert int(listed["metadata"]["resourceVersion"]) >= int(made["metadata"]["resourceVersion"])
        old = int(made["metadata"]["resourceVersion"]) - 1
        with urllib.request.urlopen(f"{second.url}{MAPS}?watch=1&resourceVersion={old}", timeout=10) as events:
            assert json.loads(events.readline())["object"]["code"] == 410


def test_terminated_cluster_ends_at_once_although_a_watch_is_open(ports: tuple[int, int, int], tmp_path: Path) -> None:
    with started(ports, tmp_path / "cluster.jsonl") as process:
        with urllib.request.urlopen(f"{process.url}{MAPS}?watch=1", timeout=10) as events:
            events.readline()
            began = time.monotonic()
            code, _ = process.end(signal.SIGTERM)

        assert code == 0
        assert time.monotonic() - began < 10


def test_taken_port_is_told_in_one_line(ports: tuple[int, int, int], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", ports[0]))
        taken.listen()
        process = Process(ports, tmp_path / "cluster.jsonl")
        output = process.popen.communicate(timeout=PATIENCE)[0]

    assert process.popen.returncode == 1
    assert output.strip().splitlines()[-1] == f"CommandError: 127.0.0.1:{ports[0]} is taken: Address already in use"


def test_broken_state_file_is_told_in_one_line(ports: tuple[int, int, int], tmp_path: Path) -> None:
    state = tmp_path / "cluster.jsonl"
    state.write_text("broken\n")
    process = Process(ports, state)

    output = process.popen.communicate(timeout=PATIENCE)[0]

    assert process.popen.returncode == 1
    assert output.strip().splitlines()[-1] == f"CommandError: {state}: line 1 is not a record of the simulated cluster"


async def test_small_answers_leave_at_once() -> None:
    undelayed: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        undelayed.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listening = listen("127.0.0.1", 0)
    async with await asyncio.start_server(answer, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await undelayed
        writer.close()
