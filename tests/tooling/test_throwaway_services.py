"""The suite against real servers: found or named, started for one command, gone afterwards."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection
from kombu import Connection

from deploy import services
from deploy.services import Missing, Owner, answers, main, program, running
from tests.tooling.processes import ROOT, Running, wait_until, with_argument


def test_a_missing_server_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(services, "DEBIAN_POSTGRESQL", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="initdb is not on this machine; on Debian: apt install postgresql"):
        program("initdb", "postgresql")


def test_the_newest_of_debian_s_servers_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for version in ("9", "15", "17"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "postgres").touch()
    monkeypatch.setattr(services, "DEBIAN_POSTGRESQL", tmp_path)
    assert program("postgres", "postgresql") == str(tmp_path / "17" / "bin" / "postgres")


TELL = """
import os, pathlib, sys, time
pathlib.Path(sys.argv[1]).write_text(os.environ["TURNO_DATABASE_URL"])
time.sleep(600)
"""
LISTEN = """
import socket, sys, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
time.sleep(600)
"""


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    server = running([sys.executable, "-c", "raise SystemExit('no room')"], tmp_path / "s", tmp_path / "log", Owner())
    with pytest.raises(Missing, match="does not start: no room"), server:
        pytest.fail("it did not start")


def test_a_server_is_there_for_one_block_only(tmp_path: Path) -> None:
    address = tmp_path / "socket"
    with running([sys.executable, "-c", LISTEN, str(address)], address, tmp_path / "log", Owner()):
        assert answers(address)
    assert not answers(address)
    assert with_argument(str(address)) == {}


def test_without_servers_the_command_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "DEBIAN_POSTGRESQL", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["--", sys.executable, "-c", "raise SystemExit(7)"]) == 1
    assert "turno: initdb is not on this machine" in capsys.readouterr().err


@pytest.mark.services
def test_the_servers_are_gone_and_the_command_s_result_is_kept() -> None:
    code = "import os; print(os.environ['TURNO_DATABASE_URL']); raise SystemExit(7)"
    command = [sys.executable, "-m", "deploy.services", "--", sys.executable, "-c", code]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 7
    folder = answer.stdout.strip().partition("host=")[2]
    assert folder
    assert with_argument(folder) == {}
    assert not Path(folder).exists()


@pytest.mark.services
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_run_that_is_broken_off_leaves_nothing(tmp_path: Path, number: int) -> None:
    told = tmp_path / "told"
    run = Running.module(tmp_path / "output", "deploy.services", "--", sys.executable, "-c", TELL, str(told))
    try:
        wait_until(lambda: told.exists() and told.read_text(), "the command has started", within=60)
        folder = told.read_text().partition("host=")[2]
        run.signal(number)
        run.wait()
        wait_until(lambda: with_argument(folder) == {}, "the servers are gone")
        assert not Path(folder).exists()
    finally:
        run.end()


@pytest.mark.services
@pytest.mark.django_db
def test_the_suite_runs_on_postgresql_and_redis() -> None:
    assert connection.vendor == "postgresql"
    with Connection(os.environ["TURNO_BROKER_URL"]) as broker:
        broker.ensure_connection(max_retries=1)
        assert broker.connected
