"""The backend: a transaction begins when it is its thread's turn, and among processes within a millisecond."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

from django.db.backends.sqlite3.base import DatabaseWrapper as SQLite
from django.db.utils import OperationalError

from portal.kernel import clock
from portal.kernel.sqlite.turns import Turns, turns_of

PAUSE = 0.001
"""Seconds between two looks at a lock that another process holds: shorter than its transaction."""


class DatabaseWrapper(SQLite):
    """Waits as long as the connection's `busy_timeout` says, for its turn and for the lock together."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn: Turns | None = None

    def _start_transaction_under_autocommit(self) -> None:
        patience = self.connection.execute("PRAGMA busy_timeout").fetchone()[0]
        end = clock.monotonic() + patience / 1000
        turns = turns_of(str(self.settings_dict["NAME"]))
        if not turns.take(patience / 1000):
            raise OperationalError("database is locked")
        self._turn = turns
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._begin(end)
        except BaseException:
            self._give_turn()
            raise
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {patience:d}")

    def _begin(self, end: float) -> None:
        """Looks again and again while another process holds the lock; the last refusal is raised."""
        while True:
            try:
                super()._start_transaction_under_autocommit()  # type: ignore[misc]  # missing in the stubs
            except OperationalError as error:
                if clock.monotonic() >= end or not _busy(error):
                    raise
                time.sleep(PAUSE)
            else:
                return

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # missing in the stubs
        self._give_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]  # missing in the stubs
        finally:
            self._give_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # missing in the stubs
        finally:
            self._give_turn()

    def _give_turn(self) -> None:
        turns, self._turn = self._turn, None
        if turns is not None:
            turns.give()


def _busy(error: OperationalError) -> bool:
    """Whether it is the lock, and not the file, that is in the way; the low byte tells the kind."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
