"""What is looked at before anything starts, so that each usual trouble is one clear line."""

import fcntl
import os
import socket
import sqlite3
from pathlib import Path
from typing import IO

from deploy.demo.places import Places, Ports


class Refusal(Exception):
    """The demo cannot start; the text says why and what to do."""


def take_lock(places: Places) -> IO[str]:
    """The lock of this checkout's demo, held as long as the returned file is open. Refusal where another holds it."""
    places.lock.parent.mkdir(parents=True, exist_ok=True)
    lock = places.lock.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise Refusal(f"the demo of this checkout is already running (process {lock.read().strip()})") from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def check_ports(ports: Ports) -> None:
    """Refusal where a port is taken."""
    for name, number in ports.named().items():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", number))
            except OSError as error:
                raise Refusal(
                    f"port {number} cannot be used ({error.strerror}): free it or choose another with {name}=..."
                ) from None


def check_database(file: Path) -> None:
    """Refusal where the database file is there and is not a sound SQLite database."""
    if not file.exists():
        return
    try:
        connection = sqlite3.connect(file)
        try:
            verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        verdict = str(error)
    if verdict != "ok":
        raise Refusal(f"the database {file} is broken ({verdict}): put a copy back, or start anew with make demo-reset")
