"""Database server and broker under the stage, where the suite runs on real ones (`python -m deploy.services`)."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from deploy.services import program, unprivileged
from tests.tooling.processes import wait_until

# Whatever ends the suite ends its processes.
TIED = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
# Servers started in place of the suite's own live as long as the suite.
_STARTED: list[subprocess.Popen[bytes]] = []


def redis_server(command: tuple[str, ...]) -> tuple[str, ...]:
    """The demo's broker as Debian's Redis, where the suite was given one."""
    if not os.environ.get("TURNO_BROKER_URL"):
        return command
    return (program("redis-server", "redis-server"), *command[1:])


@dataclass
class PostgreSQL:
    """The server of this URL, on this machine, with its socket beside its files."""

    url: str

    @property
    def home(self) -> Path:
        return Path(parse_qs(urlsplit(self.url).query)["host"][0])

    @property
    def data(self) -> Path:
        return self.home / "data"

    def kill(self) -> None:
        """As a power failure does it: every connection is cut, the next start reads the write-ahead log."""
        pid = int((self.data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        wait_until(lambda: not (self.data / "postmaster.pid").exists() or not alive(pid), "PostgreSQL is down")

    def start(self) -> None:
        """With the options of its last start."""
        command = [*TIED, *shlex.split((self.data / "postmaster.opts").read_text())]
        with (self.home / "again.log").open("ab") as output:
            server = subprocess.Popen(
                command, cwd=self.home, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **vars(unprivileged())
            )
        _STARTED.append(server)
        wait_until(self.takes_connections, "PostgreSQL is back")

    def takes_connections(self) -> bool:
        """It listens long before it has read its log."""
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True


def alive(pid: int) -> bool:
    with suppress(OSError):
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False
