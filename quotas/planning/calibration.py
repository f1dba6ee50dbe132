"""How well forecasts do: the shares of starts that came within the band, by its middle and by its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, F, Q

from portal.kernel import clock
from quotas.models import Forecast, ForecastPass

JUDGED = timedelta(days=30)


@dataclass(frozen=True)
class Calibration:
    """Of `starts` first forecasts of waits that ended in a start: how many started from p10 to p90 (8 of 10 are meant
    to), by p50 (5 of 10) and by p90 (9 of 10)."""

    starts: int
    within: int
    by_p50: int
    by_p90: int

    @property
    def shares(self) -> dict[str, float]:
        """By `within`, `by_p50`, `by_p90`; empty before the first start."""
        counts = {"within": self.within, "by_p50": self.by_p50, "by_p90": self.by_p90}
        return {name: count / self.starts for name, count in counts.items()} if self.starts else {}


def calibration(cluster_id: UUID) -> Calibration:
    """Of the last thirty days. One query."""
    since = clock.now() - JUDGED
    rows = Forecast.objects.filter(cluster_id=cluster_id, outcome="started", ordinal=0, settled_at__gt=since)
    started = F("started_at")
    found = rows.exclude(p50=None).aggregate(
        starts=Count("pk"),
        within=Count("pk", filter=Q(p10__lte=started, p90__gte=started)),
        by_p50=Count("pk", filter=Q(p50__gte=started)),
        by_p90=Count("pk", filter=Q(p90__gte=started)),
    )
    return Calibration(**found)


def figures() -> Iterable[tuple[tuple[str, str], float]]:
    """((cluster, figure), value) for metrics, as the last calibration found them: `starts` and the shares."""
    for row in ForecastPass.objects.order_by("cluster_name"):
        found = Calibration(row.starts, row.within, row.by_p50, row.by_p90)
        yield (row.cluster_name, "starts"), found.starts
        for name, share in found.shares.items():
            yield (row.cluster_name, name), share
