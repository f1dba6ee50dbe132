"""Kept forecasts, read: when waiting runs will likely start, and how past forecasts did."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from django.db.models.functions import Coalesce

from quotas.models import Forecast
from quotas.planning.correction import MOST_OUTCOMES, Outcome
from quotas.planning.forecast import Basis, Why


@dataclass(frozen=True)
class Likely:
    """When a waiting run will likely start: in 8 of 10 cases between `p10` and `p90`, by `p90` in 9 of 10.

    All three None: it cannot be said, and `why` is the code of the reason. `basis`: history, declared or none.
    `made_at`: since when the forecast stands; `as_of`: when it was last found to hold.
    """

    p10: datetime | None
    p50: datetime | None
    p90: datetime | None
    basis: Basis
    why: Why
    made_at: datetime
    as_of: datetime


def latest(workload_ids: Collection[UUID]) -> Mapping[UUID, Likely]:
    """The newest forecast of each of these workloads that has one and still waits. One query."""
    rows = Forecast.objects.filter(workload_id__in=workload_ids, outcome="").order_by("made_at", "ordinal")
    return {row.workload_id: _likely(row) for row in rows}


def _likely(row: Forecast) -> Likely:
    basis, why = cast(Basis, row.basis), cast(Why, row.why)
    return Likely(row.p10, row.p50, row.p90, basis, why, row.made_at, row.confirmed_at)


def outcomes(cluster_id: UUID, now: datetime) -> list[Outcome]:
    """What came of the first forecasts of past waits, the newest last: starts, and those that wait although their band
    is over. Two queries."""
    rows = Forecast.objects.filter(cluster_id=cluster_id, ordinal=0).exclude(p50=None)
    late = rows.filter(outcome="", p90__lt=now).order_by("-made_at")
    started = rows.filter(outcome="started").order_by("-settled_at")
    fields = ("made_at", Coalesce("played_p10", "p10"), "p50", Coalesce("played_p90", "p90"), "started_at")
    newest = [*late.values_list(*fields)[:MOST_OUTCOMES], *started.values_list(*fields)[:MOST_OUTCOMES]]
    times = [[(at or now).timestamp() for at in row] for row in reversed(newest)]
    return [Outcome(*row) for row in times]


NOTED = 40


@dataclass(frozen=True)
class Track:
    """How past forecasts of one queue did: of `kept` first forecasts that were followed by a start, how many starts
    fell `within` the band from p10 to p90."""

    kept: int
    within: int


def track(queue: str) -> Track:
    """The newest few dozen of a ClusterQueue. One query."""
    rows = Forecast.objects.filter(queue=queue, outcome="started", ordinal=0).exclude(p50=None)
    found = rows.order_by("-settled_at").values_list("p10", "p90", "started_at")[:NOTED]
    judged = [bool(p10 and p90 and at and p10 <= at <= p90) for p10, p90, at in found]
    return Track(len(judged), sum(judged))
