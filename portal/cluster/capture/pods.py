"""What of a pod has a log: each container's present life, and the one before it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Life:
    """One life of one container: `restart` counts from 0. `ended`: it writes no more. `previous`: it is the one before
    the present one, and the server must be asked for it so."""

    pod_uid: str
    namespace: str
    pod: str
    container: str
    restart: int
    workload_id: UUID
    run: int
    ended: bool = False
    previous: bool = False

    @property
    def key(self) -> Key:
        return self.pod_uid, self.container, self.restart


@dataclass(frozen=True)
class PodView:
    """One pod of ours. `leaving`: it is being deleted. `evicted`: why, else empty."""

    uid: str
    workload_id: UUID
    lives: tuple[Life, ...]
    leaving: bool = False
    evicted: str = ""


def view(data: Mapping[str, Any], *, uid: str, workload_id: UUID, run: int) -> PodView:
    """`data`: the pod as the mirror keeps it."""
    metadata, status = data.get("metadata") or {}, data.get("status") or {}
    namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    lives: list[Life] = []
    for part in ("initContainerStatuses", "containerStatuses"):
        for each in status.get(part) or []:
            for restart, ended, previous in _lives(each):
                place = (uid, namespace, name, str(each.get("name", "")), restart, workload_id, run)
                lives.append(Life(*place, ended=ended, previous=previous))
    evicted = status.get("reason") == "Evicted"
    if evicted and not lives:  # a kubelet may forget its containers: their logs are asked for all the same
        containers = (data.get("spec") or {}).get("containers") or []
        lives += [
            Life(uid, namespace, name, str(each.get("name", "")), 0, workload_id, run, ended=True)
            for each in containers
        ]
    words = str(status.get("message") or "evicted") if evicted else ""
    return PodView(uid, workload_id, tuple(lives), "deletionTimestamp" in metadata, words)


def _lives(status: Mapping[str, Any]) -> list[tuple[int, bool, bool]]:
    """(restart, ended, previous) of the lives that can still be asked for."""
    count = int(status.get("restartCount") or 0)
    state, last = status.get("state") or {}, status.get("lastState") or {}
    found = [(count - 1, True, True)] if count else []
    if "running" in state:
        found.append((count, False, False))
    elif "terminated" in state or "terminated" in last:  # ended for good, or waiting for its restart
        found.append((count, True, False))
    return found
