"""Where Kueue and the model of admission differ for longer than Kueue needs to decide."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from portal.kernel import clock
from quotas.models import Disagreement

ROOM, ORDER = "room", "order"
LASTING = timedelta(seconds=30)


def disagrees_since(cluster_id: UUID, uid: str) -> datetime | None:
    """Since when the model would admit this Kueue Workload, where that has lasted; None otherwise. One query."""
    row = Disagreement.objects.filter(cluster_id=cluster_id, kind=ROOM).first()
    since = row.open.get(uid) if row is not None else None
    if since is None or clock.now() - datetime.fromisoformat(since) < LASTING:
        return None
    return datetime.fromisoformat(since)


def lasting() -> Iterable[tuple[tuple[str, ...], float]]:
    """(cluster, kind) -> how many there are now that have lasted; for the metrics."""
    for row in Disagreement.objects.order_by("cluster_name", "kind"):
        yield (row.cluster_name, row.kind), float(row.lasting)


def totals() -> Iterable[tuple[tuple[str, ...], float]]:
    """(cluster, kind) -> how many have lasted so far; for the metrics."""
    for row in Disagreement.objects.order_by("cluster_name", "kind"):
        yield (row.cluster_name, row.kind), float(row.total)
