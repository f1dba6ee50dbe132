"""Runs the controllers: what changed in the store decides who looks at what, time decides the rest."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from portal.cluster.simulated.controllers.clusterclock import ClusterClock
from portal.cluster.simulated.controllers.events import Recorder
from portal.cluster.simulated.controllers.hardware import demo_nodes
from portal.cluster.simulated.controllers.index import Index
from portal.cluster.simulated.controllers.kubernetes import with_kubernetes
from portal.cluster.simulated.controllers.kueue.kueue import Kueue
from portal.cluster.simulated.controllers.reconciling import Controller, Name
from portal.cluster.simulated.controllers.settings import Settings
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.objects import BY_KIND
from portal.cluster.simulated.store import Change, Store
from portal.kernel import clock as wall

log = logging.getLogger(__name__)

_PASSES = 500
_RETRY = timedelta(seconds=5)
_SWEEP = timedelta(seconds=60)


class Manager:
    """All controllers over one store.

    store, logs: what they work on. clock: time-zone-aware now, the store's too; a ClusterClock can be put before or
    behind the real time. speed: how much faster than real delays pass.
    A new, empty store is given the demo's nodes, unless `seed` says no.
    """

    def __init__(
        self,
        store: Store,
        logs: LogBook,
        clock: Callable[[], datetime] = wall.now,
        speed: float = 1.0,
        *,
        seed: bool = True,
    ) -> None:
        settings, index = Settings(store, speed), Index(store)
        if isinstance(clock, ClusterClock):
            clock.offset = settings.clock_offset
        world = self.world = World(store, logs, clock, settings, index, Recorder(store, clock))
        store.subscribe(index.follow)
        kueue = Kueue(world)
        self.books, self.admission, self.workloads = kueue.books, kueue.admission, kueue.workloads
        self._kueue = kueue.controllers
        self._controllers: tuple[Controller, ...] = with_kubernetes(world, self._kueue)
        self._waiting: tuple[dict[Name, None], ...] = tuple({} for _ in self._controllers)
        self._timers: list[tuple[datetime, int, Name]] = []
        self._due: dict[tuple[int, Name], datetime] = {}
        self._clock = clock
        self._swept = clock()
        store.subscribe(self._hear)
        if seed and not store.count("Node"):
            for node in demo_nodes():
                store.create(node)
        self.look_at_everything()

    def look_at_everything(self) -> None:
        """Make every controller look at every object: at the start, and when a setting has changed."""
        for kind in BY_KIND:
            for obj in self.world.store.scan(kind):
                meta = obj["metadata"]
                change = Change(0, "ADDED", kind, meta.get("namespace") or "", meta["name"], obj, None)
                self._hear(change)

    def set_clock(self, offset: timedelta) -> None:
        """Put the cluster's clock before or behind the real time; what is in flight goes on as if nothing had been.
        Raises ValueError where the clock cannot be moved."""
        if not isinstance(self._clock, ClusterClock):
            raise ValueError("this cluster's clock cannot be moved")
        shift = offset - self._clock.offset
        self.books.time()
        self._clock.offset = offset
        self.world.shift(shift)
        self.books.restart_clock()
        self._swept += shift
        self._timers.clear()
        self._due.clear()
        self.world.settings.set_clock_offset(offset)
        self.look_at_everything()

    def run_kueue(self, *, runs: bool) -> None:
        """Stop Kueue, or start it: it reads everything anew then."""
        self.world.settings.set_kueue(runs=runs)
        if runs:
            self.books.rebuild()
            self.look_at_everything()

    def tick(self) -> float | None:
        """Do what is due, in so many passes that the API has its turn between. Returns the seconds until something else
        is, 0 when there is more to do now, None when nothing waits for time."""
        now = self.world.now()
        if now - self._swept > _SWEEP:
            self._swept = now
            self.world.events.sweep()
        self._wake(now)
        left = _PASSES
        while left > 0 and any(self._waiting):
            left = self._round(left)
        if any(self._waiting):
            return 0.0
        self._drop_stale_timers()
        return max((self._timers[0][0] - self.world.now()).total_seconds(), 0.0) if self._timers else None

    def _hear(self, change: Change) -> None:
        for controller, waiting in zip(self._controllers, self._waiting, strict=True):
            if change.kind in controller.watches:
                waiting.update(dict.fromkeys(controller.keys_for(change)))

    def _wake(self, now: datetime) -> None:
        while self._timers and self._timers[0][0] <= now:
            due, number, name = heapq.heappop(self._timers)
            if self._due.get((number, name)) == due:
                del self._due[number, name]
                self._waiting[number][name] = None

    def _round(self, passes: int) -> int:
        """Every controller works off what waits for it, in their order; what is added meanwhile waits for the next
        round. Returns how many of the allowed passes are left."""
        for number, waiting in enumerate(self._waiting):
            for name in list(waiting)[:passes]:
                del waiting[name]
                self._schedule(number, name, self._reconcile(number, name))
                passes -= 1
        return passes

    def _reconcile(self, number: int, name: Name) -> datetime | None:
        """A broken object must not stop the cluster: it is looked at again a little later."""
        controller = self._controllers[number]
        if controller in self._kueue and not self.world.settings.kueue_runs:
            return None
        try:
            return controller.reconcile(*name)
        except (ApiError, LookupError, TypeError, ValueError, AttributeError):
            log.exception("%s could not reconcile %s", type(controller).__name__, "/".join(name))
            return self.world.now() + _RETRY

    def _schedule(self, number: int, name: Name, due: datetime | None) -> None:
        if due is None:
            self._due.pop((number, name), None)
        elif self._due.get((number, name)) != due:
            self._due[number, name] = due
            heapq.heappush(self._timers, (due, number, name))

    def _drop_stale_timers(self) -> None:
        while self._timers and self._due.get((self._timers[0][1], self._timers[0][2])) != self._timers[0][0]:
            heapq.heappop(self._timers)
