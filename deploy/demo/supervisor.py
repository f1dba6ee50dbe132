"""Starts everything, keeps it running, and ends all of it: at Ctrl-C, at SIGTERM, or when `make` is gone."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from deploy.demo.children import Child
from deploy.demo.places import ROOT, Places, Ports, environment
from deploy.demo.preflight import Refusal
from deploy.demo.programs import Program, Stage, Step

TICK = 0.1
READY_WITHIN = 90.0
DEATHS_BEFORE_READY = 3
PORTAL_STOPS_WITHIN = 6.0
GROUND_STOPS_WITHIN = 2.0


def say(text: str) -> None:
    print(f"turno: {text}", flush=True)


class Supervisor:
    """All processes of one demo, from first start to last end. It runs in one thread."""

    def __init__(self, places: Places, ports: Ports, programs: Sequence[Program], steps: Sequence[Step]) -> None:
        self.places = places
        self.ports = ports
        self._steps = steps
        self._environment = environment(places, ports)
        self._children = [Child(program, self._environment, places.logs) for program in programs]
        self._parent = os.getppid()
        self._stop_signals = 0

    def run(self) -> None:
        """Runs until told to stop. Refusal where it cannot start; nothing is left running either way."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            self._prepare()
            self._until_ready()
            while not self._must_stop():
                self._look_after()
                time.sleep(TICK)
        finally:
            self._stop_all()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop_signals += 1

    def _must_stop(self) -> bool:
        return self._stop_signals > 0 or make_is_gone(self._parent)

    def _prepare(self) -> None:
        """The steps run while the ground starts; their results are there when the portal does."""
        self._start(Stage.GROUND)
        for step in self._steps:
            if not self._must_stop():
                self._take(step)
        self._start(Stage.WEB)

    def _start(self, stage: Stage) -> None:
        for child in self._children:
            if child.program.stage == stage and not self._must_stop():
                child.start()

    def _take(self, step: Step) -> None:
        log = self.places.logs / f"{step.name}.log"
        with log.open("wb") as output:
            environment = {**self._environment, **step.knows}
            process = subprocess.Popen(
                step.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
            while process.poll() is None:
                if self._must_stop():
                    process.kill()
                time.sleep(TICK)
        if process.returncode and not self._must_stop():
            raise Refusal(f"{step.name} failed: {last_line(log)} (all of it in {shown(log)})")
        say(step.done)

    def _until_ready(self) -> None:
        limit = time.monotonic() + READY_WITHIN
        while not self._must_stop():
            self._look_after()
            if self._answers():
                self._start(Stage.REST)
                self._introduce()
                return
            failing = [child for child in self._children if child.deaths >= DEATHS_BEFORE_READY]
            if failing or time.monotonic() > limit:
                raise Refusal(self._why_not_ready(failing))
            time.sleep(TICK)

    def _why_not_ready(self, failing: list[Child]) -> str:
        if failing:
            return f"{failing[0].program.name} does not start: {failing[0].last_line()} (all of it in {failing[0].log})"
        return f"the portal did not answer within {READY_WITHIN:.0f} s; its logs are in {self.places.logs}"

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports.web}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _look_after(self) -> None:
        for child in self._children:
            how = child.ended()
            if how is not None:
                say(f"{child.program.name} ended ({how}) and is started again; see {child.log}")
            elif child.start_if_due() and child.deaths:
                say(f"{child.program.name} is back")

    def _introduce(self) -> None:
        say(f"open http://127.0.0.1:{self.ports.web}")
        if self.places.credentials.exists():
            for line in accounts(self.places.credentials):
                print(f"  {line}")
            say(f"tokens for the API are in {shown(self.places.credentials)}")
        say(f"logs are in {shown(self.places.logs)}; Ctrl-C stops everything")

    def _stop_all(self) -> None:
        """The portal first, then what it talks to; who does not stop in time, or when asked twice more, is killed."""
        patience = self._stop_signals + 1
        if any(child.running for child in self._children):
            say("stopping")
        portal = [child for child in self._children if child.program.stage != Stage.GROUND]
        ground = [child for child in self._children if child.program.stage == Stage.GROUND]
        for members, within in ((portal, PORTAL_STOPS_WITHIN), (ground, GROUND_STOPS_WITHIN)):
            for child in members:
                child.ask_to_stop()
            limit = time.monotonic() + within
            while any(child.running for child in members) and time.monotonic() < limit:
                time.sleep(TICK)
                for child in members:
                    child.end_if_exited()
                if self._stop_signals > patience:
                    break
            for child in members:
                child.kill()
        say("stopped")


def make_is_gone(parent: int) -> bool:
    """True when the `make` that started this was ended alone: by then it waits for us, or is no longer our parent.

    A signal from the terminal reaches make and this process; `kill -INT` reaches make only, which then puts the
    signal back to its default and waits for its children. A make that a script started in the background ignores
    SIGINT from the first: that is no end of it.
    """
    if "MAKELEVEL" not in os.environ:
        return False
    if os.getppid() != parent:
        return True
    try:
        lines = Path(f"/proc/{parent}/status").read_text().splitlines()
    except OSError:
        return False
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    minded = int(status["SigCgt"], 16) | int(status["SigIgn"], 16)
    return status["Name"] in {"make", "gmake"} and not minded >> (signal.SIGINT - 1) & 1


def accounts(file: Path) -> list[str]:
    """The demo's accounts as lines of a small table."""
    users = json.loads(file.read_text())["users"]
    width = max(len(name) for name in users)
    return [
        f"{name:<{width}}  {user['password']:<16}  {user['role']}{' of ' + user['tenant'] if user['tenant'] else ''}"
        for name, user in users.items()
    ]


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "no output"


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
