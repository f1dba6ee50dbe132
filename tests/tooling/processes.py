"""Looking at processes from outside, and waiting for what they do."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.plugins.environment import without_defaults

ROOT = Path(__file__).resolve().parents[2]


def wait_until(condition: Callable[[], object], what: str, within: float = 60.0, *, every: float = 0.05) -> None:
    """Polls until the condition holds; AssertionError says what did not happen.

    A limit is for what never comes: on a busy machine everything that does come may take long.
    """
    limit = time.monotonic() + within
    while not condition():
        assert time.monotonic() < limit, f"not within {within:.0f} s: {what}"
        time.sleep(every)


def free_port(count: int = 1) -> int:
    """The first of `count` neighbouring loopback ports that are free now."""
    for _ in range(50):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        if first + count < 65536 and all(can_bind(first + offset) for offset in range(1, count)):
            return first
    raise AssertionError("no free ports")


def can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def with_argument(*words: str) -> dict[int, str]:
    """Process id -> command line, of all living processes that have every word in their arguments."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if line and all(word in line for word in words):
                found[int(entry.name)] = line
    return found


class Running:
    """A process under test, its output in a file; `end` makes sure that it and its group are gone."""

    def __init__(self, command: list[str], output: Path, environment: dict[str, str] | None = None) -> None:
        self.output = output
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                ["env", "--default-signal=INT", *command],  # a suite started in the background ignores Ctrl-C
                cwd=ROOT,
                env={**without_defaults(os.environ), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @classmethod
    def module(cls, output: Path, *arguments: str, environment: dict[str, str] | None = None) -> "Running":
        return cls([sys.executable, "-m", *arguments], output, environment)

    @property
    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def wait_for(self, text: str, within: float = 60.0) -> None:
        wait_until(lambda: text in self.said or self.process.poll() is not None, f"{text!r} in {self.said!r}", within)
        assert text in self.said

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, within: float = 60.0) -> int:
        return self.process.wait(within)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
