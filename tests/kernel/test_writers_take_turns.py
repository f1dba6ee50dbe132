"""SQLite has one write lock: writers of a process get it in the order in which they came, and nobody keeps it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connections
from django.db.utils import OperationalError
from pytest_django import DjangoDbBlocker

from portal.kernel.sqlite.base import DatabaseWrapper
from portal.kernel.sqlite.turns import Turns, turns_of
from portal.settings.database import database

SOON = 20.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "turns.sqlite3") as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE line (word TEXT)")
    made.close()
    return tmp_path / "turns.sqlite3"


def settings_of(file: Path, patience: float = SOON) -> dict[str, object]:
    """A connection as Turno's own settings describe it."""
    found = connections.configure_settings({"default": database(f"sqlite:///{file}", pool_size=0)})["default"]
    found["OPTIONS"] = {**found["OPTIONS"], "timeout": patience}
    return dict(found)


@pytest.fixture(autouse=True)
def _own_files(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def opened(file: Path) -> Iterator[Callable[..., DatabaseWrapper]]:
    made: list[DatabaseWrapper] = []

    def opened(patience: float = SOON) -> DatabaseWrapper:
        made.append(DatabaseWrapper(settings_of(file, patience), "default"))
        made[-1].inc_thread_sharing()
        made[-1].ensure_connection()
        return made[-1]

    yield opened
    for connection in made:
        connection.close()


@contextmanager
def writing(connection: DatabaseWrapper) -> Iterator[None]:
    """What `atomic` does, without the process's own connection."""
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    else:
        connection.commit()
    finally:
        connection.set_autocommit(True)


def words(file: Path) -> list[str]:
    reader = sqlite3.connect(file)
    found = [word for (word,) in reader.execute("SELECT word FROM line ORDER BY rowid")]
    reader.close()
    return found


def test_writers_write_in_the_order_in_which_they_came(file: Path, opened: Callable[..., DatabaseWrapper]) -> None:
    def write(word: str, connection: DatabaseWrapper) -> None:
        with writing(connection):
            connection.cursor().execute("INSERT INTO line VALUES (%s)", [word])

    first = opened()
    line = turns_of(str(file))
    threads = []
    with writing(first):
        for number in range(12):
            threads.append(threading.Thread(target=write, args=(str(number), opened())))
            threads[-1].start()
            wait_until(lambda: line.waiting == len(threads))
    for thread in threads:
        thread.join(SOON)
    assert words(file) == [str(number) for number in range(12)]


def wait_until(true: Callable[[], bool]) -> None:
    """Lets other threads run until something is so."""
    tick = threading.Event()
    for _ in range(int(SOON / 0.001)):
        if true():
            return
        tick.wait(0.001)
    raise AssertionError("it never came")


def test_a_turn_that_does_not_come_is_a_locked_database(opened: Callable[..., DatabaseWrapper]) -> None:
    with writing(opened()), pytest.raises(OperationalError, match="locked"), writing(opened(patience=0.05)):
        pytest.fail("two writers at once")
    with writing(opened(patience=0.05)):
        pass


def test_another_process_is_waited_for_no_longer_than_it_writes(
    file: Path, opened: Callable[..., DatabaseWrapper]
) -> None:
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.1, lambda: other.execute("COMMIT")).start()
    with writing(opened()):
        pass
    other.close()


def test_another_process_that_does_not_end_is_a_locked_database(
    file: Path, opened: Callable[..., DatabaseWrapper]
) -> None:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError, match="locked"), writing(opened(patience=0.05)):
        pytest.fail("two writers at once")
    other.execute("ROLLBACK")
    other.close()
    with writing(opened(patience=0.05)):
        pass


def test_what_is_no_lock_is_not_waited_for(opened: Callable[..., DatabaseWrapper]) -> None:
    wrong = opened()
    wrong.transaction_mode = "NONSENSE"  # type: ignore[attr-defined]  # missing in the stubs
    with pytest.raises(OperationalError, match="syntax"), writing(wrong):
        pytest.fail("a transaction of no kind has begun")
    with writing(opened(patience=0.05)):
        pass


@pytest.mark.parametrize("ending", ["rolled back", "closed"])
def test_who_fails_gives_the_turn_back(ending: str, opened: Callable[..., DatabaseWrapper]) -> None:
    failing = opened()
    if ending == "closed":
        failing.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        failing.close()
    else:
        with pytest.raises(RuntimeError), writing(failing):
            raise RuntimeError
    with writing(opened(patience=0.05)):
        pass


def test_single_statements_wait_as_long_as_before(opened: Callable[..., DatabaseWrapper]) -> None:
    connection = opened(patience=7)
    with writing(connection):
        pass
    assert connection.cursor().execute("PRAGMA busy_timeout").fetchone() == (7000,)


def test_a_turn_that_comes_at_the_last_moment_is_not_lost() -> None:
    turns = Turns()
    assert turns.take(0)
    assert not turns.take(0)
    assert turns.waiting == 0
    turns.give()
    assert turns.take(0)


def test_a_forked_child_waits_for_nobody_in_its_parent(file: Path) -> None:
    held = turns_of(str(file))
    assert held.take(0)
    child = os.fork()
    if child == 0:
        os._exit(0 if turns_of(str(file)).take(0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    held.give()


def test_two_files_are_two_queues(tmp_path: Path) -> None:
    assert turns_of(str(tmp_path / "a")) is not turns_of(str(tmp_path / "b"))
    assert turns_of(str(tmp_path / "a")) is turns_of(str(tmp_path / "x" / ".." / "a"))
