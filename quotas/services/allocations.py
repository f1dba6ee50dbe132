"""When runs held quota. Called by the reconciler of runs inside its own transaction; times are the cluster's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from quotas.models import Allocation

UNSEEN = "unseen"


@dataclass(frozen=True)
class Holder:
    """Whose run it is, as the ledger keeps it: names stay readable when people and workloads are gone.

    `variant` (framework, IDE or runtime), `image` and `limit_s` (the time limit asked for) tell which runs are alike.
    """

    cluster_id: UUID
    tenant_id: UUID
    tenant_slug: str
    workload_id: UUID
    workload_kind: str
    run: int
    owner_type: str
    owner_label: str
    project: str = ""
    variant: str = ""
    image: str = ""
    limit_s: int | None = None


def open_allocation(
    holder: Holder, *, kueue_uid: str, flavor: str, resource: str, units: int, admitted_at: datetime
) -> bool:
    """A Kueue Workload (by uid) holds `units` of Turno's flavor since `admitted_at`. Repeating it changes nothing.

    An earlier interval of the same cell that nobody saw end is closed here, with the reason `unseen`. Returns whether
    the interval is new.
    """
    cell = Allocation.objects.filter(kueue_uid=kueue_uid, flavor=flavor, resource=resource)
    if cell.filter(admitted_at=admitted_at).exists():
        return False
    cell.filter(released_at=None, admitted_at__lt=admitted_at).update(released_at=admitted_at, why=UNSEEN)
    row = Allocation(
        kueue_uid=kueue_uid, flavor=flavor, resource=resource, units=units, admitted_at=admitted_at, **vars(holder)
    )
    # A second pass at the same moment loses to the unique constraint and says nothing.
    Allocation.objects.bulk_create([row], ignore_conflicts=True)
    return True


def close_allocation(*, kueue_uid: str, released_at: datetime, why: str, by: str = "", rule: str = "") -> int:
    """The Workload holds nothing any more. Closes what is open; the first reason stays. Returns how many it closed.

    `by`, `rule`: who took its place, as its team may know, and by which of Kueue's rules; for preempted ones.
    """
    still = Allocation.objects.filter(kueue_uid=kueue_uid, released_at=None)
    late = still.filter(admitted_at__gt=released_at)
    told = {"why": why, "by": by, "rule": rule}
    closed = 0
    for row in late:
        closed += still.filter(pk=row.pk).update(released_at=row.admitted_at, **told)
    return closed + still.filter(admitted_at__lte=released_at).update(released_at=released_at, **told)
