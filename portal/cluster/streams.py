"""One list-and-watch loop per kind: from the API server into a queue. No database here.

It lists whole (paged), then watches on from the list's version, resumes where it stopped, and lists again when the
version is too old (410) or the server has gone back in time (an etcd restored from a snapshot).
"""

from __future__ import annotations

import logging
import queue
import random
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from portal.cluster import content
from portal.cluster.mirror import Entry, entry, number
from portal.cluster.port import ClusterError, ClusterGateway, Expired, Forbidden, JsonObject, Missing
from portal.kernel import clock

log = logging.getLogger(__name__)

QUEUE_SIZE = 4000
_PAGE = 500
_WATCH_SECONDS = 300
_LONGEST_WAIT = 15.0
_NOT_SERVED_WAIT = 30.0
_SLICE = 0.25


@dataclass(frozen=True)
class Seen:
    """An object as an event or a list told it; `version` is how far the stream is with it (empty inside a list)."""

    entry: Entry
    version: str = ""


@dataclass(frozen=True)
class Heard:
    """The stream is alive, and this far."""

    kind: str
    version: str


@dataclass(frozen=True)
class Restarted:
    """The server went back in time; a whole list follows."""

    kind: str


@dataclass(frozen=True)
class Listed:
    """A whole list was sent; `keys`: (namespace, name) of all it held."""

    kind: str
    keys: set[tuple[str, str]]
    version: str


@dataclass(frozen=True)
class Trouble:
    """The stream of this kind does not work; None: it works again."""

    kind: str
    error: ClusterError | None


@dataclass(frozen=True)
class Ordered:
    """The order in which Kueue will try what waits in a ClusterQueue (`pending`). `keys` None: it tells none (any
    more); `queue` empty: of no queue."""

    queue: str
    keys: tuple[str, ...] | None


Item = Seen | Heard | Restarted | Listed | Ordered | Trouble


@dataclass
class Term:
    """One period of leading: what its threads share. After `over` nothing of it is read any more."""

    items: queue.Queue[Item] = field(default_factory=lambda: queue.Queue(QUEUE_SIZE))
    over: threading.Event = field(default_factory=threading.Event)
    nudges: int = 0

    def nudge(self) -> None:
        """The server is back: whoever waits before trying again need not."""
        self.nudges += 1

    def rest(self, seconds: float) -> None:
        """Waits, until nudged or over."""
        before, until = self.nudges, clock.monotonic() + seconds
        while self.nudges == before and (left := until - clock.monotonic()) > 0:
            if self.over.wait(min(left, _SLICE)):
                return

    def put(self, item: Item) -> None:
        """Waits while the queue is full: a flood slows its reader down and fills no memory. Raises Over."""
        while not self.over.is_set():
            try:
                self.items.put(item, timeout=0.5)
            except queue.Full:
                continue
            return
        raise Over


class Over(Exception):
    """The term has ended."""


class KindStream(threading.Thread):
    """The loop of one kind. `wanted` filters objects by content, beyond what a selector can say."""

    def __init__(
        self,
        term: Term,
        gateway: ClusterGateway,
        kind: str,
        *,
        instance: str,
        resume_from: str = "",
        wanted: Callable[[JsonObject], bool] = lambda _: True,
    ) -> None:
        super().__init__(name=f"watch-{kind}", daemon=True)
        self._term = term
        self._gateway = gateway
        self._kind = kind
        self._instance = instance
        self._selector = content.selector(kind, instance)
        self._wanted = wanted
        self._version = resume_from
        self._sure = False
        self._failures = 0

    def run(self) -> None:
        while not self._term.over.is_set():
            try:
                self._once()
            except Over:
                return
            except Expired:
                self._version = ""
                self._failures += 1
                self._term.rest(min(0.1 * self._failures, _LONGEST_WAIT))
            except ClusterError as error:
                self._sure = False
                self._failures += 1
                self._tell(error)
                self._term.rest(self._wait(error))

    def _once(self) -> None:
        """List if need be, then one watch until it ends."""
        if self._version and not self._sure:
            self._check()
        if not self._version:
            self._list()
        self._sure = True
        self._tell(None)
        self._watch()
        self._failures = 0

    def _tell(self, error: ClusterError | None) -> None:
        """Trouble once, and its end."""
        if not self._term.over.is_set() and (error is not None or self._failures):
            self._term.put(Trouble(self._kind, error))

    def _check(self) -> None:
        """After a break the server may be another one: is it behind what we know?"""
        page = self._gateway.list(self._kind, selector=self._selector, limit=1)
        if number(page.resource_version) < number(self._version):
            log.warning("the server is behind what it said before; listing %s again", self._kind)
            self._term.put(Restarted(self._kind))
            self._version = ""

    def _list(self) -> None:
        keys: set[tuple[str, str]] = set()
        version = token = ""
        while True:
            page = self._gateway.list(self._kind, selector=self._selector, limit=_PAGE, continue_token=token)
            version = version or page.resource_version
            for item in page.items:
                if self._wanted(item):
                    seen = entry(item, self._instance)
                    keys.add((seen.namespace, seen.name))
                    self._term.put(Seen(seen))
            token = page.next
            if not token:
                break
        self._term.put(Listed(self._kind, keys, version))
        self._version = version

    def _watch(self) -> None:
        seconds = int(_WATCH_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311  so that streams do not end together
        events = self._gateway.watch(
            self._kind, resource_version=self._version, selector=self._selector, timeout_seconds=seconds
        )
        with closing(events):
            for event in events:
                version = event.resource_version
                if event.type == "BOOKMARK" or not self._wanted(event.object):
                    self._term.put(Heard(self._kind, version))
                else:
                    gone = event.type == "DELETED"
                    self._term.put(Seen(entry(event.object, self._instance, gone=gone), version))
                self._version = version or self._version
                if self._failures:
                    self._failures = 0

    def _wait(self, error: ClusterError) -> float:
        if error.retry_after is not None:
            return error.retry_after * random.uniform(1.0, 1.5)  # noqa: S311  jitter
        if isinstance(error, (Missing, Forbidden)):
            return _NOT_SERVED_WAIT
        return min(_LONGEST_WAIT, 0.2 * 2.0 ** min(self._failures, 10)) * random.uniform(0.7, 1.3)  # noqa: S311  jitter


def collect(term: Term, *, most: int = 200, seconds: float = 0.1, idle: float = 0.5) -> list[Item]:
    """What has come: waits `idle` for the first item, then gathers for `seconds` or until there are `most`."""
    try:
        items = [term.items.get(timeout=idle)]
    except queue.Empty:
        return []
    until = clock.monotonic() + seconds
    while len(items) < most and (left := until - clock.monotonic()) > 0:
        try:
            items.append(term.items.get(timeout=left))
        except queue.Empty:
            break
    return items
