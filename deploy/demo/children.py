"""One supervised process: in a group of its own, watched, started again with a growing delay, and ended whole."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from deploy.demo.places import ROOT
from deploy.demo.programs import Program

FIRST_DELAY = 0.5
LONGEST_DELAY = 10.0
STEADY_AFTER = 30.0
LOG_LIMIT = 5 * 1024 * 1024
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def tied_to(supervisor: int) -> Callable[[], None]:
    """Runs in the child before its program: it is told to stop when the supervisor dies, however that dies."""

    def tie() -> None:
        if _libc is not None:
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != supervisor:
                os._exit(1)

    return tie


class Child:
    """A program and the process that runs it now, if any. Times are monotonic seconds."""

    def __init__(self, program: Program, environment: Mapping[str, str], logs: Path) -> None:
        self.program = program
        self.log = logs / f"{program.name}.log"
        self.deaths = 0
        self._environment = {**environment, **program.knows}
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._delay = FIRST_DELAY
        self._due = 0.0

    @property
    def running(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Starts the program; its output goes to its log, the previous one is kept once it is large."""
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.program.command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=tied_to(os.getpid()),  # noqa: PLW1509 -- the supervisor has one thread
            )
        self._started = time.monotonic()

    def start_if_due(self) -> bool:
        """Starts a program that has ended again once its delay is over; True when it did."""
        if self.running or not self.deaths or time.monotonic() < self._due:
            return False
        self.start()
        return True

    def ended(self) -> str | None:
        """How the process ended, once, with its group cleared and the next start planned; None while it runs."""
        if self._process is None or not self._has_exited(self._process.pid):
            return None
        steady = time.monotonic() - self._started >= STEADY_AFTER
        self._delay = FIRST_DELAY if steady else min(self._delay * 2, LONGEST_DELAY)
        self._due = time.monotonic() + self._delay
        self.deaths += 1
        code = self._clear(self._process)
        return f"signal {-code}" if code < 0 else f"exit {code}"

    def ask_to_stop(self) -> None:
        """SIGTERM to the program alone: it ends its own children in good order."""
        if self._process is not None:
            self._process.terminate()

    def end_if_exited(self) -> None:
        """Clears up after a program that has ended by itself: what it left of its group is killed."""
        if self._process is not None and self._has_exited(self._process.pid):
            self._clear(self._process)

    def kill(self) -> None:
        if self._process is not None:
            self._clear(self._process)

    def last_line(self) -> str:
        """The last line of its log, for a message to the person; empty where there is none."""
        if not self.log.exists():
            return ""
        lines = self.log.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else ""

    @staticmethod
    def _has_exited(pid: int) -> bool:
        # Without reaping: while the leader is a zombie its group's number cannot become another's.
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _clear(self, process: subprocess.Popen[bytes]) -> int:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        self._process = None
        return process.wait()
