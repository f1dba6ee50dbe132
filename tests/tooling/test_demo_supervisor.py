"""The demo's supervisor starts everything, restarts what dies, and leaves nothing behind."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tooling.processes import Running, free_port, wait_until, with_argument

Play = Callable[..., Running]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    running: list[Running] = []

    def start(scene: str = "plain", **environment: str) -> Running:
        command = ("tests.tooling.stage", str(tmp_path / "demo"), str(free_port()), scene)
        running.append(Running.module(tmp_path / "output", *command, environment=environment))
        return running[-1]

    yield start
    for one in running:
        one.end()
    for pid in with_argument(str(tmp_path / "demo")):
        os.kill(pid, signal.SIGKILL)


def children(tmp_path: Path, *words: str) -> dict[int, str]:
    found = with_argument(str(tmp_path / "demo"), *words)
    return {pid: line for pid, line in found.items() if "tests.tooling.stage" not in line}


def make(folder: Path, tmp_path: Path) -> Running:
    """The supervisor as a child of a real make, as in `make demo`."""
    rule = tmp_path / "Makefile"
    rule.write_text(f"demo:\n\t@exec {sys.executable} -m tests.tooling.stage {folder} {free_port()}\n")
    return Running(["make", "-f", str(rule), "demo"], tmp_path / "output")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_make_alone_ends_everything(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "demo"
    demo = make(folder, tmp_path)
    try:
        demo.wait_for("open http://127.0.0.1:")
        demo.signal(number)
        demo.wait()
        wait_until(lambda: with_argument(str(folder)) == {}, "every process ends")
    finally:
        demo.end()


def test_a_make_in_the_background_of_a_script_goes_on(tmp_path: Path) -> None:
    """A shell without job control starts its background commands with SIGINT ignored."""
    folder = tmp_path / "demo"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        demo = make(folder, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        demo.wait_for("open http://127.0.0.1:")
        demo.signal(signal.SIGTERM)
        demo.wait()
        wait_until(lambda: with_argument(str(folder)) == {}, "every process ends")
    finally:
        demo.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_process(play: Play, tmp_path: Path, number: int) -> None:
    demo = play()
    demo.wait_for("open http://127.0.0.1:")
    assert len(children(tmp_path)) == 3

    demo.signal(number)

    assert demo.wait() == 0
    assert children(tmp_path) == {}


def test_a_program_that_ignores_its_signal_is_killed_with_its_children(play: Play, tmp_path: Path) -> None:
    demo = play("deaf")
    demo.wait_for("open http://127.0.0.1:")
    demo.signal(signal.SIGTERM)
    assert demo.wait(within=10) == 0
    assert children(tmp_path) == {}


def test_what_dies_is_started_again_and_leaves_no_orphan(play: Play, tmp_path: Path) -> None:
    demo = play()
    demo.wait_for("open http://127.0.0.1:")
    (old,) = [pid for pid, line in children(tmp_path, "plain").items() if "grandchild" not in line]
    (orphan,) = children(tmp_path, "grandchild")

    os.kill(old, signal.SIGKILL)

    demo.wait_for("parent ended (signal 9) and is started again")
    demo.wait_for("parent is back")
    wait_until(lambda: len(children(tmp_path, "grandchild")) == 1, "one new grandchild")
    assert orphan not in children(tmp_path, "grandchild")


def test_nothing_outlives_a_killed_supervisor(play: Play, tmp_path: Path) -> None:
    demo = play()
    demo.wait_for("open http://127.0.0.1:")
    programs = {pid for pid, line in children(tmp_path).items() if "grandchild" not in line}
    demo.signal(signal.SIGKILL)
    wait_until(lambda: not programs & set(children(tmp_path)), "the programs end with their supervisor")


def test_a_program_that_never_starts_is_told_with_its_last_words(play: Play, tmp_path: Path) -> None:
    demo = play("broken")
    assert demo.wait() == 1
    assert "refused: broken does not start: the reason why" in demo.said
    assert children(tmp_path) == {}


def test_a_failed_step_is_told_with_its_last_words(play: Play, tmp_path: Path) -> None:
    demo = play("step")
    assert demo.wait() == 1
    assert "refused: prepare failed: the reason why" in demo.said
    assert children(tmp_path) == {}
