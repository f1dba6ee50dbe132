"""Each usual trouble at the demo's start is one clear line, and nothing is started."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.demo.places import SOCKET_PATH_LIMIT, Places, Ports, environment
from deploy.demo.preflight import take_lock
from deploy.demo.programs import Kubernetes, all_programs, all_steps
from tests.tooling.processes import ROOT, free_port


def demo(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = {"TURNO_DEMO_FOLDER": str(folder), "PORT": str(free_port(4)), **variables}
    command = [sys.executable, "-m", "deploy.demo", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **settings}, capture_output=True, text=True, timeout=60, check=False
    )


def refusal(answer: subprocess.CompletedProcess[str]) -> str:
    """The one line of a refused start."""
    assert answer.returncode == 1
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    return line


def test_a_taken_port(tmp_path: Path) -> None:
    first = free_port(4)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", first + 2))
        taken.listen()
        line = refusal(demo(tmp_path / "demo", PORT=str(first)))
    assert line == (
        f"turno: port {first + 2} cannot be used (Address already in use): free it or choose another with DATA_PORT=..."
    )


@pytest.mark.parametrize("text", ["eight", "0", "70000", "-1"])
def test_a_port_that_is_none(tmp_path: Path, text: str) -> None:
    assert f"PORT must be a port between 1 and 65535, not '{text}'" in refusal(demo(tmp_path / "demo", PORT=text))


def test_a_cluster_that_there_is_not(tmp_path: Path) -> None:
    line = refusal(demo(tmp_path / "demo", CLUSTER="k3s"))
    assert line == "turno: CLUSTER must be simulated or kubernetes, not 'k3s'"


def test_a_real_cluster_without_go(tmp_path: Path) -> None:
    around = {"XDG_CACHE_HOME": str(tmp_path), "TURNO_CLUSTER_FOLDER": str(tmp_path / "cluster"), "GO": "/nobody"}
    assert "Go 1.26 builds the control plane" in refusal(demo(tmp_path / "demo", CLUSTER="kubernetes", **around))


def test_a_broken_database(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.create()
    places.database.write_text("this is no database " * 100)
    line = refusal(demo(places.folder))
    assert line == (
        f"turno: the database {places.database} is broken (file is not a database): "
        "put a copy back, or start anew with make demo-reset"
    )


def test_a_second_demo_of_one_checkout(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    with take_lock(places):
        line = refusal(demo(places.folder))
        reset = refusal(demo(places.folder, "reset"))
    assert line == reset == f"turno: the demo of this checkout is already running (process {os.getpid()})"


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    assert refusal(demo(tmp_path / "demo")) == f"turno: {tmp_path}/demo: File exists"


def test_reset_forgets_everything(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.create()
    places.database.write_text("old")
    answer = demo(places.folder, "reset")
    assert answer.returncode == 0
    assert not places.folder.exists()


def test_an_old_python_gets_one_line() -> None:
    code = "import runpy, sys; sys.version_info = (3, 9, 2); sys.argv[1:] = ['demo']; "
    code += "runpy.run_path('deploy/environment.py', run_name='__main__')"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith("turno: Python 3.11 or newer is needed and ")
    assert "is 3.9.2" in answer.stderr


def test_the_secret_is_kept_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.create()
    ports = Ports(1, 2, 3, 4)
    first = environment(places, ports, {})["TURNO_SECRET_KEY"]
    assert environment(places, ports, {})["TURNO_SECRET_KEY"] == first
    assert environment(places, ports, {"TURNO_SECRET_KEY": "mine"})["TURNO_SECRET_KEY"] == "mine"
    assert len(first) >= 50
    assert (places.folder / "secret_key").stat().st_mode & 0o777 == 0o600


def test_processes_keep_their_compiled_modules_for_the_next_start(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.create()
    around = {"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
    found = environment(places, Ports(1, 2, 3, 4), around)
    assert "PYTHONDONTWRITEBYTECODE" not in found
    assert found["LANG"] == "C.UTF-8"


def test_a_secret_that_a_broken_off_start_left_empty_is_made_anew(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.create()
    (places.folder / "secret_key").touch()
    assert len(places.secret_key()) >= 50


def test_a_deep_checkout_still_has_a_socket_that_fits(tmp_path: Path) -> None:
    deep = Places(tmp_path / ("d" * 120) / "demo")
    assert len(str(deep.socket)) <= SOCKET_PATH_LIMIT
    assert deep.socket != Places(tmp_path / ("e" * 120) / "demo").socket


def test_only_those_who_talk_to_the_cluster_know_where_it_is(tmp_path: Path) -> None:
    programs = all_programs(Places(tmp_path), Ports(8000, 8001, 8002, 8003))
    knowing = {program.name for program in programs if "TURNO_CLUSTER_CONNECTIONS" in program.knows}
    assert knowing == {"worker", "watch", "logs"}
    assert [step.name for step in all_steps(Ports(1, 2, 3, 4))] == ["migrate", "demo_data"]


def test_processes_are_known_by_their_arguments(tmp_path: Path) -> None:
    lines = {p.name: " ".join(p.command) for p in all_programs(Places(tmp_path), Ports(8000, 8001, 8002, 8003))}
    assert " celery -A portal worker " in lines["worker"]
    assert " celery -A portal beat " in lines["beat"]
    assert lines["watch"].endswith("manage.py watch")
    assert lines["logs"].endswith("manage.py logs")
    assert "--host 127.0.0.1 --port 8000" in lines["web"]


def test_a_real_cluster_takes_the_simulated_ones_place(tmp_path: Path) -> None:
    ports, real = Ports(8000, 8001, 8002, 8003), Kubernetes("/somewhere/kubeconfig", "https://127.0.0.1:6443")
    programs = {program.name: program for program in all_programs(Places(tmp_path), ports, real)}
    assert "cluster" not in programs
    assert programs["data"].command[-3:] == ("8002", "/somewhere/kubeconfig", "http://127.0.0.1:8000")
    assert programs["worker"].knows == {"TURNO_CLUSTER_CONNECTIONS": "default=/somewhere/kubeconfig"}
    assert all_steps(ports, real)[1].knows["TURNO_DEMO_CLUSTER_URL"] == "https://127.0.0.1:6443"
