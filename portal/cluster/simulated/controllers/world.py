"""What every controller works with: the store, the clock, the speed, and the moments of things in flight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from portal.cluster.simulated.controllers.events import Recorder
from portal.cluster.simulated.controllers.index import Index
from portal.cluster.simulated.controllers.settings import Settings
from portal.cluster.simulated.logs import LogBook
from portal.cluster.simulated.objects import Obj, copy, parse_timestamp, timestamp
from portal.cluster.simulated.store import Store


@dataclass
class World:
    """Shared by the controllers of one manager.

    Delays are nominal seconds of an ordinary cluster; `due` divides them by the speed. Time stamps stay real.
    """

    store: Store
    logs: LogBook
    clock: Callable[[], datetime]
    settings: Settings
    index: Index
    events: Recorder
    _moments: dict[tuple[str, str], datetime] = field(default_factory=dict)

    def now(self) -> datetime:
        return self.clock()

    def stamp(self) -> str:
        return timestamp(self.clock())

    def due(self, start: datetime, seconds: float) -> datetime:
        """When a nominal delay that began at `start` ends."""
        return start + timedelta(seconds=seconds / self.settings.speed)

    def moment(self, uid: str, stage: str, recorded: str | None = None) -> datetime:
        """When a stage of an object's life began, to the microsecond; after a restart, what was recorded of it, to the
        second; else now."""
        known = self._moments.get((uid, stage))
        if known is None:
            known = parse_timestamp(recorded) if recorded else self.clock()
            self._moments[uid, stage] = known
        return known

    def begin(self, uid: str, stage: str) -> datetime:
        """Note that a stage begins now."""
        self._moments[uid, stage] = self.clock()
        return self._moments[uid, stage]

    def shift(self, by: timedelta) -> None:
        """The clock has been moved: the stages in flight began so much later."""
        self._moments = {stage: moment + by for stage, moment in self._moments.items()}

    def forget(self, uid: str) -> None:
        """Drop the moments of an object that is gone."""
        for key in [key for key in self._moments if key[0] == uid]:
            del self._moments[key]

    def store_status(self, obj: Obj, status: Obj) -> None:
        """Write the status of an object, if it is still there; writes nothing when it says the same."""

        def write(stored: Obj) -> None:
            stored["status"] = copy(status)

        meta = obj["metadata"]
        self.store.mutate(obj["kind"], meta.get("namespace"), meta["name"], write, status=True)

    def change(self, obj: Obj, write: Callable[[Obj], object], *, status: bool = False) -> Obj | None:
        """Read an object anew, let `write` change it, store it (or only its status). None when it is gone."""

        def apply(stored: Obj) -> None:
            write(stored)

        meta = obj["metadata"]
        return self.store.mutate(obj["kind"], meta.get("namespace"), meta["name"], apply, status=status)

    def event(self, obj: Obj, reason: str, message: str, *, kind: str = "Normal", component: str) -> None:
        self.events.record(obj, reason, message, kind=kind, component=component)
