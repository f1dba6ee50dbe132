"""Keeping forecasts: what is said of whoever waits, and what came of it. Called by a periodic task, no actor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from math import floor
from uuid import UUID

from django.db.models import Count, Max

from portal.cluster.models import Cluster, MirrorObject
from portal.kernel import clock
from portal.kernel.leader import Leadership
from portal.kernel.transaction import transaction
from quotas.models import Allocation, Forecast, ForecastPass
from quotas.planning.calibration import calibration
from quotas.planning.mirrored import standing
from quotas.planning.newcomers import newcomers
from quotas.planning.outlook import Foreseen, Survey, foresee, known_of, remembered, scene_of

EVERY = timedelta(seconds=60)
# A round that took long is followed by a longer rest.
REST = 5
LEADS = timedelta(seconds=60)
MOST_PER_WAIT = 12
CONSIDERABLY, CONSIDERABLE_S = 0.2, 5.0
# Who is in neither the queue nor the ledger after this has left: the ledger lags behind the mirror.
GRACE = timedelta(seconds=60)
KEPT = timedelta(days=90)
BATCH = 1000
Surveyor = Callable[[UUID], Survey]


def forecast(cluster_id: UUID, survey: Surveyor) -> int:
    """One round on one cluster, if it is due and nobody else is at it; how many forecasts were made.

    `survey` tells what is known of the cluster's work.
    """
    seen = _fingerprint(cluster_id)
    if not _due(cluster_id, seen):
        return 0
    leadership = Leadership(f"forecast-{cluster_id}", ttl=LEADS)
    if not leadership.hold():
        return 0
    try:
        return _round(cluster_id, seen, survey(cluster_id))
    finally:
        leadership.resign()


def calibrate() -> int:
    """How the forecasts of each cluster did; how many starts were judged. For a periodic task."""
    judged = 0
    for row in Cluster.objects.filter(pk__in=ForecastPass.objects.values("cluster_id")):
        found = calibration(row.pk)
        ForecastPass.objects.filter(cluster_id=row.pk).update(cluster_name=row.name, **asdict(found))
        judged += found.starts
    return judged


def _fingerprint(cluster_id: UUID) -> str:
    """Changes whenever a queue, a quota or a Kueue Workload does."""
    rows = MirrorObject.objects.filter(cluster=cluster_id, kind__in=("Workload", "ClusterQueue", "Cohort"))
    found = rows.aggregate(newest=Max("seen_at"), number=Count("pk"))
    return f"{found['newest']}/{found['number']}"


def _due(cluster_id: UUID, seen: str) -> bool:
    row = ForecastPass.objects.filter(cluster_id=cluster_id).first()
    if row is None:
        return True
    since = clock.now() - row.made_at
    return since >= EVERY or (row.seen != seen and since >= timedelta(milliseconds=REST * row.took_ms))


def _round(cluster_id: UUID, seen: str, survey: Survey) -> int:
    began, now = clock.monotonic(), clock.now()
    state = standing(cluster_id)
    if state.as_of is None:
        return 0
    known = known_of(state, survey, remembered(cluster_id))
    scene = scene_of(state, known)
    found = foresee(state, known, scene)
    kept = {"newcomers": newcomers(state, scene, known.correction)}
    runs = {key: run for key, (_, run) in survey.live.items()}
    with transaction():
        _settle(cluster_id, frozenset(one.workload_id for one in state.members.values() if one.workload_id), now)
        _keep(cluster_id, {key: one for key, one in found.items() if key in runs}, runs, now)
        _forget(cluster_id, now)
        ForecastPass.objects.update_or_create(
            cluster_id=cluster_id,
            defaults={
                "seen": seen,
                "made_at": now,
                "took_ms": int((clock.monotonic() - began) * 1000),
                "durations": kept,
            },
        )
    return len(found)


def _keep(cluster_id: UUID, found: Mapping[UUID, Foreseen], runs: Mapping[UUID, int], now: datetime) -> None:
    """New rows for new waits and for what moved; the others are confirmed."""
    rows = Forecast.objects.filter(cluster_id=cluster_id, outcome="", workload_id__in=found).order_by("ordinal")
    newest = {row.workload_id: row for row in rows}
    new, confirmed, replaced = [], [], []
    for key, one in found.items():
        last = newest.get(key)
        row = _row(cluster_id, key, runs[key], one, now)
        if last is None or last.run != row.run:
            new.append(row)
        elif not _moved(last, row):
            confirmed.append(last.pk)
        elif last.p50 is not None and last.ordinal + 1 < MOST_PER_WAIT:
            row.ordinal = last.ordinal + 1
            new.append(row)
        else:  # nothing was said before, or so often that enough is kept
            row.pk, row.ordinal = last.pk, last.ordinal
            replaced.append(row)
    Forecast.objects.bulk_create(new)
    Forecast.objects.filter(pk__in=confirmed).update(confirmed_at=now)
    if replaced:
        fields = ["made_at", "confirmed_at", "p10", "p50", "p90", "played_p10", "played_p90", "basis", "why"]
        Forecast.objects.bulk_update(replaced, fields, batch_size=BATCH)


def _forget(cluster_id: UUID, now: datetime) -> None:
    old = Forecast.objects.filter(cluster_id=cluster_id, outcome__in=("started", "left"), settled_at__lt=now - KEPT)
    Forecast.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:BATCH])).delete()


def _row(cluster_id: UUID, key: UUID, run: int, one: Foreseen, now: datetime) -> Forecast:
    estimate, played = one.estimate, one.played
    return Forecast(
        cluster_id=cluster_id,
        queue=one.member.queue,
        workload_id=key,
        run=run,
        made_at=now,
        confirmed_at=now,
        p10=_moment(estimate.p10),
        p50=_moment(estimate.p50),
        p90=_moment(estimate.p90),
        played_p10=_moment(played.p10),
        played_p90=_moment(played.p90),
        basis=estimate.basis,
        why=estimate.why,
    )


def _moment(at: float | None) -> datetime | None:
    """In whole seconds, rounded down as the cluster rounds the times of starts."""
    return None if at is None else datetime.fromtimestamp(floor(at), UTC)


def _moved(old: Forecast, new: Forecast) -> bool:
    """Considerably: by a fifth of how far away the new end of the band is, and by more than some seconds."""
    if (old.p50, old.p90) == (new.p50, new.p90):
        return old.why != new.why
    if old.p50 is None or old.p90 is None or new.p50 is None or new.p90 is None:
        return True
    away = (new.p90 - new.made_at).total_seconds()
    by = max(abs((new.p50 - old.p50).total_seconds()), abs((new.p90 - old.p90).total_seconds()))
    return by > max(CONSIDERABLE_S, CONSIDERABLY * away)


def _settle(cluster_id: UUID, live: frozenset[UUID], now: datetime) -> None:
    """Open forecasts of runs that were admitted since, or that are no longer there."""
    waiting = Forecast.objects.filter(cluster_id=cluster_id, outcome="")
    rows = list(waiting.values_list("workload_id", "run", "made_at", "confirmed_at"))
    began: dict[tuple[UUID, int], datetime] = {}
    last: dict[tuple[UUID, int], datetime] = {}
    for workload_id, run, made_at, confirmed_at in rows:
        key = (workload_id, run)
        began[key] = min(made_at, began.get(key, made_at))
        last[key] = max(confirmed_at, last.get(key, confirmed_at))
    starts = _starts(began)
    for (workload_id, run), since in began.items():
        started = starts.get((workload_id, run))
        if started is not None:
            told = {"outcome": "started", "started_at": started}
        elif workload_id not in live and last[workload_id, run] < now - GRACE and since < now - GRACE:
            told = {"outcome": "left"}
        else:
            continue
        waiting.filter(workload_id=workload_id, run=run).update(settled_at=now, **told)


def _starts(began: Mapping[tuple[UUID, int], datetime]) -> dict[tuple[UUID, int], datetime]:
    """The first admission of each run after its first forecast."""
    rows = Allocation.objects.filter(workload_id__in={key for key, _ in began}).order_by("admitted_at")
    found: dict[tuple[UUID, int], datetime] = {}
    for workload_id, run, admitted_at in rows.values_list("workload_id", "run", "admitted_at"):
        since = began.get((workload_id, run))
        if since is not None and admitted_at >= since.replace(microsecond=0):
            found.setdefault((workload_id, run), admitted_at)
    return found
