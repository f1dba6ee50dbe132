"""`manage.py logs`: the log reader of every cluster (see `portal.cluster.capture.reader`)."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand

from portal.cluster.capture.reader import ClusterLogs
from portal.cluster.per_cluster import attend


class Command(BaseCommand):
    help = "Read containers' logs while somebody looks, and keep their ends."

    def handle(self, *_: str, **__: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        attend(stop, ClusterLogs)
