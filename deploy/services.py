"""Runs a command against a throw-away PostgreSQL and Redis: `python -m deploy.services -- COMMAND...`.

Both are found on this machine, listen on unix sockets in a temporary folder only, and are gone afterwards. The command
finds them in TURNO_DATABASE_URL and TURNO_BROKER_URL. PostgreSQL refuses to run as root: it then runs as `postgres`.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

STARTS_WITHIN = 30.0
DEBIAN_POSTGRESQL = Path("/usr/lib/postgresql")


class Missing(Exception):
    """A server is not on this machine, or does not start; the text says which and what to do."""


def program(name: str, package: str) -> str:
    """The path of a server's program, also where Debian keeps PostgreSQL's. Missing where there is none."""
    versions = sorted(DEBIAN_POSTGRESQL.glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not on this machine; on Debian: apt install {package}")
    return found


@dataclass(frozen=True)
class Owner:
    """Who runs a server, in the words of subprocess; all None = whoever runs this."""

    user: str | None = None
    group: int | None = None
    extra_groups: list[int] | None = None


def unprivileged() -> Owner:
    """An owner that is not root."""
    if os.geteuid():
        return Owner()
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return Owner(entry.pw_name, entry.pw_gid, [])


@contextmanager
def postgresql(folder: Path) -> Iterator[str]:
    """A fresh server; yields its database URL."""
    owner = unprivileged()
    home = folder / "postgresql"
    home.mkdir()
    if owner.user:
        shutil.chown(home, owner.user)
    data, log = home / "data", folder / "postgresql.log"
    initdb = [program("initdb", "postgresql"), "-D", str(data), "-U", "turno", "-A", "trust", "-E", "UTF8"]
    with log.open("wb") as output:
        made = subprocess.run(
            [*initdb, "-E", "UTF8", "--locale=C.UTF-8"],
            cwd=home,
            stdout=output,
            stderr=output,
            check=False,
            **vars(owner),
        )
    if made.returncode:
        raise Missing(f"PostgreSQL could not make its files: {last_line(log)}")
    settings = {"listen_addresses": "", "unix_socket_directories": str(home), "fsync": "off", "max_connections": "200"}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with running([program("postgres", "postgresql"), "-D", str(data), *options], home / ".s.PGSQL.5432", log, owner):
        yield f"postgresql://turno@/postgres?host={home}"


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """A fresh server; yields its broker URL."""
    address = folder / "redis.sock"
    command = [program("redis-server", "redis-server"), "--port", "0", "--unixsocket", str(address), "--save", ""]
    with running([*command, "--dir", str(folder)], address, folder / "redis.log", Owner()):
        yield f"redis+socket://{address}?virtual_host=0"


@contextmanager
def running(command: list[str], address: Path, log: Path, owner: Owner) -> Iterator[None]:
    """The server while it runs, from its first answer on its socket to its end."""
    with log.open("ab") as output:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **vars(owner))
    try:
        limit = time.monotonic() + STARTS_WITHIN
        while not answers(address):
            if server.poll() is not None or time.monotonic() > limit:
                raise Missing(f"{Path(command[0]).name} does not start: {last_line(log)}")
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def answers(address: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(address))
        except OSError:
            return False
    return True


def last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def end(number: int, _frame: FrameType | None) -> NoReturn:
    """Leaves through every `finally`, so that no server outlives this process."""
    sys.exit(128 + number)


def main(arguments: list[str]) -> int:
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        sys.exit("usage: python -m deploy.services -- COMMAND...")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turno-services-")))
        folder.chmod(0o755)
        try:
            addresses = {
                "TURNO_DATABASE_URL": stack.enter_context(postgresql(folder)),
                "TURNO_BROKER_URL": stack.enter_context(redis(folder)),
                "TURNO_DATABASE_POOL": "40",  # tests in threads have no request's end that would give connections back
            }
        except Missing as missing:
            print(f"turno: {missing}", file=sys.stderr)
            return 1
        return subprocess.run(command, env={**os.environ, **addresses}, check=False).returncode


if __name__ == "__main__":
    for stop in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, end)
    sys.exit(main(sys.argv[1:]))
