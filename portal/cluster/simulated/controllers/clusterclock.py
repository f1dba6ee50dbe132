"""The cluster's own clock, which may differ from that of the machines around it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from portal.kernel import clock as wall


class ClusterClock:
    """Now, as the cluster's machines see it: the wall clock and an offset."""

    def __init__(self, source: Callable[[], datetime] = wall.now) -> None:
        self._source = source
        self.offset = timedelta()

    def __call__(self) -> datetime:
        return self._source() + self.offset
