"""Who may write next: threads of one process take turns, first come first served.

SQLite's own waiting has no order: a waiter sleeps, longer each time, and whoever happens to be awake gets the lock, so
that at eight writers one in twenty waited for more than a second. Here a thread is woken when its turn has come.
"""

from __future__ import annotations

import os
from collections import deque
from threading import Lock


class Turns:
    """A lock that is handed from one waiting thread to the next in the order in which they came."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._taken = False
        self._waiting: deque[Lock] = deque()

    def take(self, patience: float) -> bool:
        """Waits at most `patience` seconds for the turn; False if it did not come."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            mine = Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=patience):
            return True
        with self._guard:
            if mine not in self._waiting:  # it was handed over at the last moment
                return True
            self._waiting.remove(mine)
            return False

    def give(self) -> None:
        """Hands the turn to who has waited longest, or leaves it free."""
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False

    @property
    def waiting(self) -> int:
        return len(self._waiting)


_turns: dict[str, Turns] = {}
_finding = Lock()


def turns_of(database: str) -> Turns:
    """The queue for a database file; one per file and process."""
    with _finding:
        return _turns.setdefault(os.path.realpath(database), Turns())


def _forget() -> None:
    """A forked child has none of the threads that wait or write in its parent."""
    global _finding  # noqa: PLW0603  the parent's may be held at the fork
    _finding = Lock()
    _turns.clear()


os.register_at_fork(after_in_child=_forget)
