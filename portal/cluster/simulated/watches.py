"""Watches: one stream of changes, in order, each as soon as it happened."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

import orjson

from portal.cluster.simulated.errors import ApiError, Expired
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.reads import Selection, parse_rv
from portal.cluster.simulated.store import Change, Store
from portal.kernel import clock

_LONGEST_SECONDS = 3600.0
_BACKLOG = 50_000


@dataclass(frozen=True)
class WatchOptions:
    """since: the version to go on from, None for the present state first. initial_end: mark the end of that state with
    a bookmark. bookmark_every: seconds between bookmarks, None for none. timeout: seconds."""

    since: int | None
    initial_end: bool
    bookmark_every: float | None
    timeout: float


def watch_options(query: Mapping[str, str], bookmark_every: float) -> WatchOptions:
    """Raises ApiError for numbers that are none."""
    rv = parse_rv(query.get("resourceVersion", ""))
    initial = query.get("sendInitialEvents", "") in ("1", "true")
    bookmarks = query.get("allowWatchBookmarks", "") in ("1", "true", "True")
    timeout = query.get("timeoutSeconds") or "0"
    if not timeout.isdecimal():
        raise ApiError(400, "BadRequest", f'strconv.ParseInt: parsing "{timeout}": invalid syntax')
    return WatchOptions(
        since=None if initial or rv == 0 else rv,
        initial_end=initial and bookmarks,
        bookmark_every=bookmark_every if bookmarks else None,
        timeout=float(timeout) or _LONGEST_SECONDS,
    )


class Watch:
    """Follows the store from its construction on, so that nothing is missed before the stream is read. backlog: how
    many changes may wait for a slow reader before it is cut off."""

    def __init__(self, store: Store, wanted: Selection, options: WatchOptions, *, backlog: int = _BACKLOG) -> None:
        self._store = store
        self._wanted = wanted
        self._options = options
        self._backlog = backlog
        self._pending: deque[Change] = deque()
        self._news = asyncio.Event()
        self._overrun = False
        self._first = self._begin()
        self._seen = max(store.rv, options.since or 0)
        self._stop = store.subscribe(self._note)

    def _begin(self) -> list[bytes]:
        """What is sent at once: the present state, or the changes since a version, or that they are no longer held."""
        kind, options = self._wanted.resource.kind, self._options
        if options.since is None:
            present = [_line("ADDED", obj) for obj in self._store.scan(kind) if self._wanted(obj)]
            return [*present, self._bookmark(self._store.rv, end=True)] if options.initial_end else present
        try:
            changes = self._store.events_since(kind, options.since)
        except Expired as error:
            self._overrun = True
            return [_error_line(error)]
        return [line for change in changes for line in self._lines(change)]

    def _note(self, change: Change) -> None:
        if change.kind != self._wanted.resource.kind or change.rv <= self._seen:
            return
        self._pending.append(change)
        self._overrun = self._overrun or len(self._pending) > self._backlog
        self._news.set()

    def close(self) -> None:
        """Stop following."""
        self._stop()

    async def stream(self) -> AsyncGenerator[bytes, None]:
        """JSON lines until the time-out, or until the watcher is too slow to keep up with."""
        try:
            for line in self._first:
                yield line
            until = clock.monotonic() + self._options.timeout
            while True:
                if self._overrun:
                    return
                while self._pending:
                    change = self._pending.popleft()
                    for line in self._lines(change):
                        yield line
                left = until - clock.monotonic()
                if left <= 0:
                    break
                if not await self._wait(left) and self._options.bookmark_every:
                    yield self._bookmark(max(self._store.rv, self._seen))
        finally:
            self.close()

    async def _wait(self, left: float) -> bool:
        """Until there is news (True) or a bookmark, or the end, is due (False)."""
        self._news.clear()
        patience = min(left, self._options.bookmark_every or left)
        try:
            await asyncio.wait_for(self._news.wait(), patience)
        except TimeoutError:
            return False
        return True

    def _lines(self, change: Change) -> list[bytes]:
        now = change.type != "DELETED" and self._wanted(change.object)
        before = change.previous is not None and self._wanted(change.previous)
        if change.type == "DELETED":
            return [_line("DELETED", change.object)] if before or self._wanted(change.object) else []
        if now:
            return [_line("MODIFIED" if before else "ADDED", change.object)]
        if before and change.previous is not None:
            meta = {**change.previous["metadata"], "resourceVersion": str(change.rv)}
            return [_line("DELETED", {**change.previous, "metadata": meta})]
        return []

    def _bookmark(self, rv: int, *, end: bool = False) -> bytes:
        resource = self._wanted.resource
        meta: Obj = {"resourceVersion": str(rv)}
        if end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        return _line("BOOKMARK", {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta})


def _line(event: str, obj: Obj) -> bytes:
    return orjson.dumps({"type": event, "object": obj}) + b"\n"


def _error_line(error: ApiError) -> bytes:
    return _line("ERROR", error.body())
