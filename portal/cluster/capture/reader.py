"""`manage.py logs`: reads containers' logs while somebody looks, and keeps the end of each when its pod goes.

One leader per cluster. One thread decides and writes; each log that is being read has a thread that only reads. All
viewers share that one reading: they look at rows.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import DatabaseError, InterfaceError, connection

from portal.cluster import factory
from portal.cluster.capture import pods
from portal.cluster.capture.lines import Piece
from portal.cluster.capture.pods import Key, Life, PodView
from portal.cluster.capture.store import LogStore, Stream
from portal.cluster.capture.tail import Outcome, Tail
from portal.cluster.models import Cluster, LogInterest, MirrorObject
from portal.cluster.port import ClusterGateway
from portal.kernel import clock
from portal.kernel.leader import Leadership

log = logging.getLogger(__name__)

MOST_TAILS = 128
TICK = 0.2
_PLAN_EVERY = 0.4
_PRESENT_EVERY = 2.0
_WHOLE_EVERY = 30.0
_CLEAN_EVERY = 600.0
_HOLD_EVERY = 3.0
_STAND_BY = 1.0
_OVERLAP = timedelta(seconds=10)
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 15.0
_REFUSALS_UNTIL_GAP = 4

Gateways = Callable[[Cluster], ClusterGateway]


class NotLeading(Exception):
    """Somebody else reads this cluster's logs now."""


class Desk:
    """What is read and written of one cluster while leading. `turn` is one round: write what came, then plan."""

    def __init__(self, cluster: Cluster, gateway: ClusterGateway, fence: Callable[[], None]) -> None:
        self.cluster = cluster
        self.store = LogStore(cluster, fence)
        self._gateway = gateway
        self._pods: dict[str, PodView] = {}
        self._complete: set[Key] = set()
        self._known: set[Key] = set()
        self._tails: dict[Key, Tail] = {}
        self._again_at: dict[Key, tuple[float, int]] = {}
        self._clean_ends: set[Key] = set()
        self._newest: datetime | None = None
        self._whole_at = self._plan_at = self._present_at = self._clean_at = 0.0

    def turn(self) -> None:
        self._write()
        now = clock.monotonic()
        if now >= self._plan_at:
            self._look_at_pods()
            self._plan()
            self._plan_at = now + _PLAN_EVERY
        if now >= self._present_at:
            self._look_for_gone()
            self._present_at = now + _PRESENT_EVERY
        if now >= self._clean_at:
            self.store.clean()
            self._clean_at = now + _CLEAN_EVERY

    @property
    def reading(self) -> set[Key]:
        """What is being read now."""
        return set(self._tails)

    def close(self) -> None:
        """Ends all reading; what was read and not written is read again by whoever comes next."""
        for tail in self._tails.values():
            tail.stop()

    def _write(self) -> None:
        news: list[tuple[Stream, list[Piece], int]] = []
        over: list[Tail] = []
        for tail in self._tails.values():
            taken = tail.take()
            if taken.pieces or taken.dropped:
                news.append((tail.stream, taken.pieces, taken.dropped))
            if taken.over:
                over.append(tail)
        if news:
            self.store.write(news)
        for tail in over:
            del self._tails[tail.life.key]
            self._settle(tail)

    def _settle(self, tail: Tail) -> None:
        """A reading has ended: is its log complete?"""
        key = tail.life.key
        if tail.outcome is Outcome.ENDED:
            self._again_at.pop(key, None)
            self._clean_ends.add(key)
            if tail.life.ended and not tail.follow:
                self._finish(tail.stream, key, self._eviction(key))
            return
        if tail.outcome is Outcome.STOPPED:
            return
        failures = self._again_at.get(key, (0.0, 0))[1] + 1
        wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 10))
        self._again_at[key] = (clock.monotonic() + wait, failures)
        log.info("log of %s/%s: %s", tail.life.pod, tail.life.container, tail.words)
        if tail.outcome is Outcome.REFUSED and tail.life.ended and failures >= _REFUSALS_UNTIL_GAP:
            self._finish(tail.stream, key, self._eviction(key) or f"unreadable:{tail.words}")

    def _finish(self, stream: Stream, key: Key, gap: str = "") -> None:
        self.store.complete(stream.pk, gap)
        self._complete.add(key)
        self._again_at.pop(key, None)

    def _eviction(self, key: Key) -> str:
        pod = self._pods.get(key[0])
        return f"evicted:{pod.evicted}" if pod is not None and pod.evicted else ""

    def _look_at_pods(self) -> None:
        """Pods that changed since the last look, by the watcher's clock; all of them from time to time, for that clock
        may change with the watcher."""
        rows = MirrorObject.objects.filter(cluster=self.cluster, kind="Pod", ours=True)
        rows = rows.exclude(workload_id=None).exclude(run=None)
        now = clock.monotonic()
        if self._newest is not None and now < self._whole_at:
            rows = rows.filter(seen_at__gte=self._newest - _OVERLAP)
        else:
            self._whole_at = now + _WHOLE_EVERY
        found = []
        for row in rows.only("uid", "workload_id", "run", "data", "seen_at"):
            self._newest = row.seen_at if self._newest is None else max(self._newest, row.seen_at)
            if row.workload_id is not None and row.run is not None:
                found.append(pods.view(row.data, uid=row.uid, workload_id=row.workload_id, run=row.run))
        self._complete |= self.store.complete_keys([pod.uid for pod in found if pod.uid not in self._pods])
        self._pods |= {pod.uid: pod for pod in found}
        new = [life for pod in found for life in pod.lives if life.key not in self._known]
        self.store.begin(new)
        self._known |= {life.key for life in new}

    def _plan(self) -> None:
        """Which logs must be read now, and which no longer."""
        interested = set(LogInterest.objects.filter(until__gt=clock.now()).values_list("workload_id", flat=True))
        for life, watched in self._wanted(interested):
            tail = self._tails.get(life.key)
            if tail is None and watched and self._may_start(life):
                self._start(life)
            elif tail is not None and not watched and tail.follow:
                tail.stop()

    def _wanted(self, interested: set[UUID]) -> Iterable[tuple[Life, bool]]:
        """Every life that is not complete, and whether it is to be read: ended ones first, they go first."""
        lives = [
            (life, life.ended or pod.leaving or pod.workload_id in interested)
            for pod in self._pods.values()
            for life in pod.lives
            if life.key not in self._complete
        ]
        return sorted(lives, key=lambda each: not each[0].ended)

    def _may_start(self, life: Life) -> bool:
        return len(self._tails) < MOST_TAILS and clock.monotonic() >= self._again_at.get(life.key, (0.0, 0))[0]

    def _start(self, life: Life) -> None:
        tail = Tail(self._gateway, life, self.store.open(life.key), follow=not life.ended)
        self._tails[life.key] = tail
        tail.start()

    def _look_for_gone(self) -> None:
        """Pods that are gone: what could not be read of them is a gap."""
        rows = MirrorObject.objects.filter(cluster=self.cluster, kind="Pod", ours=True)
        present = set(rows.values_list("uid", flat=True))
        for pk, key in self.store.vanished(present, self.reading):
            evicted = self._eviction(key)
            self.store.complete(pk, evicted or ("" if key in self._clean_ends else "vanished:"))
            self._complete.add(key)
        for uid in self._pods.keys() - present:
            del self._pods[uid]
        self._forget({key[0] for key in self._tails} | self._pods.keys())

    def _forget(self, uids: set[str]) -> None:
        """What concerns pods that are no longer of interest."""
        self._complete = {key for key in self._complete if key[0] in uids}
        self._known = {key for key in self._known if key[0] in uids}
        self._clean_ends = {key for key in self._clean_ends if key[0] in uids}
        self._again_at = {key: value for key, value in self._again_at.items() if key[0] in uids}


class ClusterLogs(threading.Thread):
    """One cluster: stands by until it leads, then reads until it no longer does or `stop` is set."""

    def __init__(self, cluster: Cluster, stop: threading.Event, gateways: Gateways = factory.gateway) -> None:
        super().__init__(name=f"logs-{cluster.name}", daemon=True)
        self.cluster = cluster
        self.ended = threading.Event()
        self._stop_all = stop
        self._gateways = gateways
        self._leadership = Leadership(f"logs:{cluster.pk}")

    def run(self) -> None:
        try:
            while not self._stopping():
                try:
                    if self._leadership.hold():
                        self._lead()
                except NotLeading:
                    log.warning("another process reads the logs of cluster %s now", self.cluster.name)
                except (DatabaseError, InterfaceError) as error:
                    log.warning("the database does not answer: %s", type(error).__name__)
                    connection.close()
                self._stop_all.wait(_STAND_BY)
            self._leadership.resign()
        finally:
            connection.close()

    def end(self) -> None:
        self.ended.set()

    def _stopping(self) -> bool:
        return self._stop_all.is_set() or self.ended.is_set()

    def _lead(self) -> None:
        log.info("reading logs of cluster %s", self.cluster.name)
        desk = Desk(self.cluster, self._gateways(self.cluster), self._fence)
        hold_at = 0.0
        try:
            while not self._stopping():
                if clock.monotonic() >= hold_at:
                    self._fence()
                    hold_at = clock.monotonic() + _HOLD_EVERY
                desk.turn()
                self._stop_all.wait(TICK)
        finally:
            desk.close()

    def _fence(self) -> None:
        if not self._leadership.hold():
            raise NotLeading
