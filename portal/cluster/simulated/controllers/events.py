"""Kubernetes Events (core/v1) as controllers write them: equal ones are counted, old ones go after an hour."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from portal.cluster.simulated.objects import BY_KIND, Obj, parse_timestamp, timestamp
from portal.cluster.simulated.store import Store

TTL = timedelta(hours=1)
_LONGEST_MESSAGE = 1024


class Recorder:
    """Writes events into a store."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str, str, str], tuple[str, str]] = {}
        self._last = 0

    def record(self, obj: Obj, reason: str, message: str, *, kind: str, component: str) -> None:
        """kind: Normal or Warning; component: who says it (`kubelet`, `job-controller`)."""
        meta = obj["metadata"]
        namespace = meta.get("namespace") or "default"
        message = message[:_LONGEST_MESSAGE]
        same = (meta["uid"], reason, message, component)
        if same in self._known and self._count(*self._known[same]):
            return
        name = f"{meta['name']}.{self._stamp():x}"
        self._known[same] = (namespace, name)
        now = timestamp(self._clock())
        involved = {
            "kind": obj["kind"],
            "namespace": meta.get("namespace"),
            "name": meta["name"],
            "uid": meta["uid"],
            "apiVersion": obj.get("apiVersion") or BY_KIND[obj["kind"]].api_version,
            "resourceVersion": meta.get("resourceVersion"),
        }
        self._store.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": name, "namespace": namespace},
                "involvedObject": {field: value for field, value in involved.items() if value},
                "reason": reason,
                "message": message,
                "source": {"component": component},
                "firstTimestamp": now,
                "lastTimestamp": now,
                "count": 1,
                "type": kind,
                "eventTime": None,
                "reportingComponent": component,
                "reportingInstance": "",
            }
        )

    def sweep(self) -> None:
        """Remove events older than the time to live."""
        before = self._clock() - TTL
        old = [
            (event["metadata"]["namespace"], event["metadata"]["name"])
            for event in self._store.scan("Event")
            if event.get("lastTimestamp") and parse_timestamp(event["lastTimestamp"]) < before
        ]
        for namespace, name in old:
            self._store.delete("Event", namespace, name)
        if old:
            gone = set(old)
            self._known = {same: where for same, where in self._known.items() if where not in gone}

    def _count(self, namespace: str, name: str) -> bool:
        now = timestamp(self._clock())

        def again(event: Obj) -> None:
            event["count"] = event.get("count", 1) + 1
            event["lastTimestamp"] = now

        return self._store.mutate("Event", namespace, name, again) is not None

    def _stamp(self) -> int:
        """Nanoseconds of now, never the same twice: what Kubernetes makes event names of."""
        self._last = max(self._last + 1, int(self._clock().timestamp() * 1_000_000_000))
        return self._last
