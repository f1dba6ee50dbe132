"""Intervals of held quota, opened and closed by the cluster's own times; and who took a place away."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from jobs.models import Workload
from jobs.observe import Admission
from jobs.observe.kueue import admission
from jobs.reconcile.loading import Situation, seen_all
from jobs.states import ANOTHER_TEAM, State
from portal.cluster import selectors as cluster
from quotas import selectors as quotas
from quotas.services.allocations import Holder, close_allocation, open_allocation

CPU = "cpu"
ENDED_AS: Mapping[State, str] = {
    State.STOPPING: "stopped",
    State.STOPPED: "stopped",
    State.DELETING: "deleted",
    State.DELETED: "deleted",
}


def sync(at: Situation, now: datetime) -> None:
    """Opens and closes what the mirror shows, inside the caller's transaction. Repeating it changes nothing."""
    runs = {one.uid: one.run for one in at.mirror}
    known = set()
    for one in (admission(seen) for seen in seen_all(at.kueue)):
        known.add(one.uid)
        run = runs.get(one.owner_uid) or at.run.number
        if one.reserved_at is not None:
            _open(at, one, run, one.reserved_at)
        if one.released_at is not None:
            close_allocation(
                kueue_uid=one.uid,
                released_at=one.released_at,
                why=_why(at, one),
                by=_by(at, one),
                rule=one.evicted.params.get("rule", "") if one.evicted is not None else "",
            )
    _close_vanished(at, known, now)


def _open(at: Situation, one: Admission, run: int, admitted_at: datetime) -> None:
    row = at.workload
    resource = row.flavor.resource or CPU
    for (kueue_flavor, name), units in one.units.items():
        if name != resource:
            continue
        open_allocation(
            _holder(row, run),
            kueue_uid=one.uid,
            flavor=flavor_name(row, kueue_flavor),
            resource=name,
            units=units,
            admitted_at=admitted_at,
        )


def _holder(row: Workload, run: int) -> Holder:
    return Holder(
        cluster_id=row.cluster_id,
        tenant_id=row.tenant_id,
        tenant_slug=row.tenant.slug,
        workload_id=row.pk,
        workload_kind=row.kind,
        run=run,
        owner_type=row.owner_type,
        owner_label=row.owner_label,
        project=row.project,
        variant=row.variant,
        image=str(row.spec.get("image") or "")[:400],
        limit_s=row.spec.get("max_duration"),
    )


def flavor_name(row: Workload, kueue_flavor: str) -> str:
    """Turno's name of a ResourceFlavor; the cluster's own where no row has it any more."""
    if quotas.kueue_name(row.flavor) == kueue_flavor:
        return row.flavor.name
    found = quotas.flavor_of(row.cluster_id, kueue_flavor)
    return found.name if found else kueue_flavor[:40]


def _close_vanished(at: Situation, known: set[str], now: datetime) -> None:
    """A Kueue Workload that is no longer mirrored gave its quota back when its owner went."""
    if at.synced.get("Workload") is None:
        return
    still_open = quotas.allocations(at.workload.pk).filter(released_at=None)
    for uid in set(still_open.values_list("kueue_uid", flat=True)) - known:
        close_allocation(kueue_uid=uid, released_at=now, why=ENDED_AS.get(at.state, "ended"))


def _why(at: Situation, one: Admission) -> str:
    if one.finished:
        return "finished"
    if one.evicted is not None:
        return one.evicted.reason.value
    return ENDED_AS.get(at.state, "ended")


def _by(at: Situation, one: Admission) -> str:
    return preemptor(at, one.evicted.preemptor) if one.evicted is not None and one.evicted.preemptor else ""


def preemptor(at: Situation, job_uid: str) -> str:
    """Who took the place, as far as this team may know: its own workload's name, else a team's, else "another team"."""
    found = next(iter(cluster.by_uids(at.workload.cluster_id, [job_uid])), None)
    if found is None or found.workload_id is None:
        return ANOTHER_TEAM
    taker = Workload.objects.select_related("tenant").filter(pk=found.workload_id).first()
    if taker is None:
        return ANOTHER_TEAM
    if taker.tenant_id == at.workload.tenant_id:
        return taker.name
    shown = quotas.shows_teams(at.workload.cluster_id, at.workload.tenant.cohort)
    return taker.tenant.slug if shown else ANOTHER_TEAM
