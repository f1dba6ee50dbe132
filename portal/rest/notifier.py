"""One watcher of the feed per web process: long polls and streams sleep here instead of asking the database each.

While somebody waits it asks every 300 ms, in one query for all scopes, whether their sequence numbers moved.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

from django.db import DatabaseError

from portal.kernel import feed
from portal.rest.asking import ask_for_all

INTERVAL = 0.3
log = logging.getLogger(__name__)


class Notifier:
    """Wakes waiters of a scope when anything happened in it."""

    def __init__(self) -> None:
        self._waiters: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._seen: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def wait(self, scope: str, timeout: float) -> None:  # noqa: ASYNC109  a long poll has its own limit
        """Returns after the scope moved, or after `timeout` seconds."""
        moved = asyncio.Event()
        self._waiters[scope].add(moved)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())
        try:
            await asyncio.wait_for(moved.wait(), timeout)
        except TimeoutError:
            return
        finally:
            self._waiters[scope].discard(moved)
            if not self._waiters[scope]:
                del self._waiters[scope]

    async def _watch(self) -> None:
        while self._waiters:
            try:
                now = await ask_for_all(feed.last_seqs, list(self._waiters))
            except DatabaseError:
                log.warning("the feed cannot be read; waiting clients stay")
                now = {}
            for scope, seq in now.items():
                if self._seen.get(scope, -1) != seq:
                    self._seen[scope] = seq
                    for event in self._waiters.get(scope, ()):
                        event.set()
            await asyncio.sleep(INTERVAL)
        self._seen.clear()


_by_loop: dict[int, Notifier] = {}


def notifier() -> Notifier:
    """The notifier of the running event loop."""
    return _by_loop.setdefault(id(asyncio.get_running_loop()), Notifier())
