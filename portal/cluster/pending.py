"""The order of what waits, as Kueue's own visibility API tells it: asked by the watch process, of queues that changed.

An API that is not there is asked again after minutes only; then positions are what the admission model says.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping

from django.db import DatabaseError, InterfaceError, connection

from portal.cluster.mirror import Entry
from portal.cluster.models import Cluster, MirrorObject, PendingOrder
from portal.cluster.port import ClusterError, ClusterGateway, Forbidden, Missing, ObjectRef
from portal.cluster.streams import Term
from portal.kernel import clock

log = logging.getLogger(__name__)

LOOK_EVERY = 0.5
ASK_EVERY = 3.0  # of one queue
OFF_FOR = 300.0
Place = tuple[str, str]  # namespace and LocalQueue


class PendingWatch(threading.Thread):
    """Keeps `PendingOrder` of one cluster while it leads. `changed` is called by the writer of the mirror."""

    def __init__(self, cluster: Cluster, term: Term, gateway: ClusterGateway) -> None:
        super().__init__(name="watch-pending", daemon=True)
        self._cluster = cluster
        self._term = term
        self._gateway = gateway
        self._lock = threading.Lock()
        self._changed: set[Place] = set()
        self._wanted: set[str] = set()
        self._asked: dict[str, float] = {}
        self._off_until = 0.0

    def run(self) -> None:
        try:
            while not self._term.over.wait(LOOK_EVERY):
                try:
                    self.look()
                except (DatabaseError, InterfaceError) as error:
                    log.warning("the database does not answer: %s", type(error).__name__)
                    connection.close()
        finally:
            connection.close()

    def changed(self, entries: Iterable[Entry]) -> None:
        """These Kueue Workloads moved: their queues are asked again soon."""
        places = {(one.namespace, _queue_name(one)) for one in entries if one.kind == "Workload"}
        with self._lock:
            self._changed |= places

    def look(self) -> None:
        """Asks about each queue that changed and was not asked about in the last seconds."""
        now = clock.monotonic()
        if now < self._off_until:
            return
        with self._lock:
            places, self._changed = self._changed, set()
        if places:
            self._wanted |= self._queues(places)
        due = [queue for queue in sorted(self._wanted) if now - self._asked.get(queue, -ASK_EVERY) >= ASK_EVERY]
        for queue in due:
            if self._term.over.is_set() or not self._ask(queue, now):
                return

    def _queues(self, places: set[Place]) -> set[str]:
        """The ClusterQueues behind these LocalQueues, by the mirror."""
        rows = MirrorObject.objects.filter(
            cluster=self._cluster, kind="LocalQueue", namespace__in={namespace for namespace, _ in places}
        )
        found = {(row.namespace, row.name): _cluster_queue(row.data) for row in rows}
        return {found[place] for place in places if found.get(place)}

    def _ask(self, queue: str, now: float) -> bool:
        """Whether asking about the next one makes sense."""
        self._asked[queue] = now
        try:
            keys = list(self._gateway.pending(queue))
        except Forbidden as error:
            log.info("order of what waits: not allowed to ask: %s", error.message)
            return self._off(now)
        except Missing:
            return self._nothing_there(queue, now)
        except ClusterError as error:
            log.info("order of what waits in %s: %s", queue, error.message)
            return True
        self._wanted.discard(queue)
        values = {"keys": keys, "seen_at": clock.now()}
        PendingOrder.objects.update_or_create(cluster=self._cluster, queue=queue, defaults=values)
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
        PendingOrder.objects.filter(cluster=self._cluster, queue=queue).delete()
        return True

    def _off(self, now: float) -> bool:
        self._off_until = now + OFF_FOR
        PendingOrder.objects.filter(cluster=self._cluster).delete()
        return False


def _queue_name(one: Entry) -> str:
    return str((one.data.get("spec") or {}).get("queueName") or "")


def _cluster_queue(data: Mapping[str, object]) -> str:
    spec = data.get("spec")
    return str(spec.get("clusterQueue") or "") if isinstance(spec, dict) else ""
