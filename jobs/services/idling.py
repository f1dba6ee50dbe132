"""A notebook that nobody has open gives its GPU back: what is known of its use, and the stop when the time is over.

Use is what a gateway asks the portal about: each request, and an open socket again and again. A run that was never
opened has no measurement, and is never stopped by this. A notebook that computes with no browser open counts as idle.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from jobs import transitions
from jobs.models import Workload
from jobs.services.ending import end
from jobs.services.history import record
from jobs.services.rights import hold
from jobs.states import Reason, State
from portal.kernel import clock
from portal.kernel.actors import System
from portal.kernel.transaction import transaction
from tenants import selectors as tenants

# Use is written at most this often, so the last one may be this much younger than the row says.
NOTED_EVERY = timedelta(minutes=1)


def note_use(row: Workload) -> None:
    """Somebody has it open now. One statement at most once a minute, none otherwise."""
    now = clock.now()
    if row.last_used_at is not None and row.last_used_at > now - NOTED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
    limit = _limit(row.spec.get("idle_timeout"), tenants.policy_of(row.tenant_id).idle_timeout)
    rows = Workload.objects.filter(stale, pk=row.pk, state=State.RUNNING)
    rows.update(last_used_at=now, idle_stop_at=stops_at(now, limit))


def stops_at(last_used_at: datetime | None, limit: int | None) -> datetime | None:
    """When a notebook with this limit (seconds) is surely idle for so long; None: never, or not known."""
    return None if last_used_at is None or limit is None else last_used_at + NOTED_EVERY + timedelta(seconds=limit)


def _limit(own: int | None, policy: int | None) -> int | None:
    """The notebook's own, capped by the team's policy of today."""
    known = [seconds for seconds in (own, policy) if seconds is not None]
    return min(known) if known else None


def idle_too_long(limit: int = 200) -> list[UUID]:
    """Running notebooks whose time without use is over, the longest over first."""
    over = Workload.objects.filter(idle_stop_at__lte=clock.now(), state=State.RUNNING)
    return list(over.order_by("idle_stop_at").values_list("pk", flat=True)[:limit])


def stop_idle(*, workload_id: UUID) -> bool:
    """The sweep's stop of an idle notebook; False where it was used, stopped, or has been running again for too short
    a time: what was preempted could not be used."""
    now = clock.now()
    with transaction():
        hold(workload_id)
        rows = Workload.objects.select_related("tenant").filter(pk=workload_id, state=State.RUNNING)
        row = rows.filter(idle_stop_at__lte=now).first()
        if row is None or row.idle_stop_at is None or row.last_used_at is None:
            return False
        allowed = row.idle_stop_at - row.last_used_at
        if row.state_since + allowed > now:
            transitions.amend(row, changes={"idle_stop_at": row.state_since + allowed, "last_used_at": row.state_since})
            return False
        idle = int((allowed - NOTED_EVERY).total_seconds())
        end(row, reason=Reason.IDLE_RECLAIMED, by=System(), params={"seconds": idle})
        record(System(), row, "stop", after={"idle_seconds": idle})
    return True
