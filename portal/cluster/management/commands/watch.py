"""`manage.py watch`: the watcher of every cluster (see `portal.cluster.watch`)."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from portal.cluster.per_cluster import attend
from portal.cluster.watch import ClusterWatch


class Command(BaseCommand):
    help = "Watch the clusters and keep the mirror of what they say."

    def handle(self, *_: str, **__: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        attend(stop, ClusterWatch)
