"""The order of what waits, as Kueue's own visibility API tells it: asked by the watch process, of queues that changed.

No database here: the writer says which queues changed, and writes what comes back. An API that is not there is asked
again after minutes only; then positions are what the admission model says.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from portal.cluster.port import ClusterError, ClusterGateway, Forbidden, Missing, ObjectRef
from portal.cluster.streams import Ordered, Over, Term
from portal.kernel import clock

log = logging.getLogger(__name__)

LOOK_EVERY = 0.5
ASK_EVERY = 3.0  # of one queue
OFF_FOR = 300.0


class PendingWatch(threading.Thread):
    """Tells the order of one cluster's queues while it leads."""

    def __init__(self, term: Term, gateway: ClusterGateway) -> None:
        super().__init__(name="watch-pending", daemon=True)
        self._term = term
        self._gateway = gateway
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._wanted: set[str] = set()
        self._asked: dict[str, float] = {}
        self._off_until = 0.0

    def run(self) -> None:
        while not self._term.over.wait(LOOK_EVERY):
            try:
                self.look()
            except Over:
                return

    def changed(self, queues: Iterable[str]) -> None:
        """Something moved in these ClusterQueues: they are asked about soon."""
        with self._lock:
            self._changed |= set(queues)

    def look(self) -> None:
        """Asks about each queue that changed and was not asked about in the last seconds. Raises Over."""
        now = clock.monotonic()
        if now < self._off_until:
            return
        with self._lock:
            changed, self._changed = self._changed, set()
        self._wanted |= changed
        for queue in sorted(self._wanted):
            due = now - self._asked.get(queue, -ASK_EVERY) >= ASK_EVERY
            if due and not self._ask(queue, now):
                return

    def _ask(self, queue: str, now: float) -> bool:
        """Whether asking about the next one makes sense."""
        self._asked[queue] = now
        try:
            keys = tuple(self._gateway.pending(queue))
        except Forbidden as error:
            log.info("order of what waits: not allowed to ask: %s", error.message)
            return self._off(now)
        except Missing:
            return self._nothing_there(queue, now)
        except ClusterError as error:
            log.info("order of what waits in %s: %s", queue, error.message)
            return True
        self._wanted.discard(queue)
        self._term.put(Ordered(queue, keys))
        return True

    def _nothing_there(self, queue: str, now: float) -> bool:
        """Either the queue has gone, or the whole API is not served."""
        self._wanted.discard(queue)
        try:
            if self._gateway.get(ObjectRef("ClusterQueue", queue)) is not None:
                return self._off(now)
        except ClusterError as error:
            log.info("order of what waits in %s: %s", queue, error.message)
            return True
        self._term.put(Ordered(queue, None))
        return True

    def _off(self, now: float) -> bool:
        self._off_until = now + OFF_FOR
        self._term.put(Ordered("", None))
        return False
