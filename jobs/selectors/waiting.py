"""Why a workload waits: its place in the queue, the one limit that holds it, and the ways out. From the mirror only."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from jobs.models import Workload
from jobs.selectors.workloads import workload
from jobs.states import EXPLANATIONS, Reason, State
from portal.cluster import names
from portal.cluster import selectors as cluster
from portal.cluster.models import MirrorObject
from portal.kernel.actors import Actor


def position(row: Workload) -> int | None:
    """1-based place in the team's queue; None where it does not wait or the mirror does not know it (yet)."""
    if row.state != State.QUEUED:
        return None
    return _place(_pending(row), row)


def _pending(row: Workload) -> list[MirrorObject]:
    queue = names.prefixed(row.cluster.prefix, row.tenant.slug)
    return cluster.pending(row.cluster_id, [queue])


def _place(pending: list[MirrorObject], row: Workload) -> int | None:
    """The first of its pods that waits; pods of one Deployment wait one by one."""
    if not pending:
        return None
    mine = {one.uid for one in cluster.objects_of_workload(row.pk)}
    for place, one in enumerate(pending, start=1):
        if one.job_uid in mine or one.owner_uid in mine:
            return place
    return None


def explain(actor: Actor, workload_id: UUID) -> dict[str, Any]:
    """Blocker and position; the parts that need a model of admission are empty until there is one.

    `as_of` is a datetime, None where the mirror was never filled.
    """
    row = workload(actor, workload_id)
    waits = row.state == State.QUEUED
    pending = _pending(row) if waits else []
    place = _place(pending, row)
    return {
        "blocker": _blocker(row) if waits else None,
        "position": {"queue": place, "queue_length": len(pending), "cohort": None} if place else None,
        "ahead": [],
        "holders": [],
        "likely_start": None,
        "ways_out": _ways_out(row) if waits else [],
        "as_of": cluster.as_of(row.cluster_id, "Workload"),
    }


def _blocker(row: Workload) -> dict[str, Any]:
    told = row.reason_params
    needed = told.get("needed")
    return {
        "code": row.reason,
        "message": gettext(EXPLANATIONS[Reason(row.reason)].sentence) % told,
        "flavor": told.get("flavor") or row.flavor.name,
        "resource": told.get("resource") or row.flavor.resource or None,
        "needed": int(needed) if str(needed).isdigit() else None,
        "available": None,
    }


def _ways_out(row: Workload) -> list[dict[str, Any]]:
    way = EXPLANATIONS[Reason(row.reason)].way_out
    return [{"who": "you", "action": gettext(way), "change": None}] if way else []
