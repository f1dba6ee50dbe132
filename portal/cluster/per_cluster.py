"""One thread for every cluster that this process can reach; begun again when it died or its row changed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from portal.cluster.models import Cluster

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
_AGAIN_AFTER = 1.0


class Attendant(Protocol):
    """A thread that looks after one cluster."""

    def start(self) -> None: ...
    def is_alive(self) -> bool: ...
    def join(self, timeout: float | None = None) -> None: ...
    def end(self) -> None:
        """Asks this one to stop."""


Place = tuple[str, str, str]


def attend(stop: threading.Event, begin: Callable[[Cluster, threading.Event], Attendant]) -> None:
    """Until `stop`. A cluster whose connection is not in TURNO_CLUSTER_CONNECTIONS is somebody else's."""
    running: dict[UUID, tuple[Place, Attendant]] = {}
    told = False
    while not stop.is_set():
        try:
            clusters = {row.pk: row for row in Cluster.objects.filter(connection__in=settings.CLUSTER_CONNECTIONS)}
        except (DatabaseError, InterfaceError) as error:
            log.warning("the database does not answer: %s", type(error).__name__)
            connection.close()
            stop.wait(_AGAIN_AFTER)
            continue
        if not clusters and not told:
            log.warning("no cluster has a connection of TURNO_CLUSTER_CONNECTIONS yet")
            told = True
        for key, (place, attendant) in list(running.items()):
            if not attendant.is_alive() or key not in clusters or _place(clusters[key]) != place:
                attendant.end()
                del running[key]
        for key in clusters.keys() - running.keys():
            attendant = begin(clusters[key], stop)
            attendant.start()
            running[key] = _place(clusters[key]), attendant
        stop.wait(LOOK_EVERY if clusters else _AGAIN_AFTER)
    for _, attendant in running.values():
        attendant.join(5)


def _place(cluster: Cluster) -> Place:
    """What an attendant depends on."""
    return cluster.connection, cluster.instance, cluster.prefix
