"""Writing the containers' lines into the log book as their time comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from portal.cluster.simulated.controllers import output
from portal.cluster.simulated.controllers.behaviour import Behaviour
from portal.cluster.simulated.controllers.containers import names, restarts
from portal.cluster.simulated.controllers.output import Said
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj


@dataclass
class _Speech:
    lines: Iterator[Said]
    coming: Said | None


class Speaker:
    """One for all pods; the first container of a pod is the one that speaks."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._speeches: dict[tuple[str, int], _Speech] = {}

    def speak(self, pod: Obj, behaviour: Behaviour, started: datetime) -> datetime | None:
        """Write what has become due. Returns when the next line is."""
        uid, restart = pod["metadata"]["uid"], restarts(pod)
        speech = self._speeches.get((uid, restart))
        if speech is None:
            speech = self._speeches[uid, restart] = self._prepare(pod, behaviour, restart)
        while speech.coming is not None:
            due = self._world.due(started, speech.coming.after)
            if due > self._world.now():
                return due
            self._write(pod, restart, speech.coming.text, due)
            speech.coming = next(speech.lines, None)
        return None

    def end(self, pod: Obj, last: list[str]) -> None:
        """The container ends, with these last lines."""
        uid, restart = pod["metadata"]["uid"], restarts(pod)
        for text in last:
            self._write(pod, restart, text, self._world.now())
        for name in names(pod):
            self._world.logs.end(uid, name, restart)
        self._speeches.pop((uid, restart), None)

    def forget(self, uid: str) -> None:
        for key in [key for key in self._speeches if key[0] == uid]:
            del self._speeches[key]

    def _prepare(self, pod: Obj, behaviour: Behaviour, restart: int) -> _Speech:
        """After a restart of the cluster, what the log book already has is not said again."""
        lines = output.script(pod, behaviour)
        written = self._world.logs.read(pod["metadata"]["uid"], names(pod)[0], restart)[1]
        for _ in range(written):
            next(lines, None)
        if not written:
            for name in names(pod):
                self._world.logs.append(pod["metadata"]["uid"], name, restart, self._world.now(), b"")
        return _Speech(lines, next(lines, None))

    def _write(self, pod: Obj, restart: int, text: str, at: datetime) -> None:
        self._world.logs.append(pod["metadata"]["uid"], names(pod)[0], restart, at, text.encode() + b"\n")
