"""Stopping and deleting. The cluster's part is done by the reconciler; here only what is wanted is written."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs import transitions
from jobs.errors import AlreadyFinal
from jobs.models import Workload
from jobs.services.history import record
from jobs.services.rights import changeable, hold
from jobs.states import Reason, State
from portal.kernel import clock, work
from portal.kernel.actors import Actor, System
from portal.kernel.errors import Conflict
from portal.kernel.transaction import transaction

STOPPABLE = (State.QUEUED, State.STARTING, State.RUNNING, State.IDLE)


def stop(actor: Actor, *, workload_id: UUID) -> Workload:
    """Ends the open run. A stopped or stopping one stays as it is (a waiting start is called off).

    AlreadyFinal for one that ended by itself, Conflict `deleting` for one that is being deleted.
    """
    with transaction():
        row = changeable(actor, workload_id)
        state = State(row.state)
        if state in (State.SUCCEEDED, State.FAILED):
            raise AlreadyFinal(_("It has already ended: there is nothing to stop."))
        if state is State.DELETING:
            raise Conflict(_("It is being deleted."), code="deleting")
        if state is State.STOPPED:
            return row
        if state is State.STOPPING:
            if transitions.amend(row, changes={"start_requested": False}):
                record(actor, row, "stop")
            return row
        end(row, reason=Reason.STOP_REQUESTED, by=actor, params={"by": actor.label})
        record(actor, row, "stop")
    return row


def end(row: Workload, *, reason: Reason, by: Actor, params: dict[str, object]) -> None:
    """A live workload goes to `stopping`, for a person or for a policy; inside the caller's transaction."""
    wanted = {"wanted": "stop", "wanted_by_type": by.type, "wanted_by_label": by.label, "start_requested": False}
    transitions.move(row, reason=reason, now=clock.now(), params=params, by=by, changes=wanted)
    work.wake("workload", row.pk)


def stop_by_deadline(*, workload_id: UUID) -> bool:
    """The sweep's stop of a notebook or endpoint whose time is over; False where that is no longer so."""
    now = clock.now()
    with transaction():
        hold(workload_id)
        row = Workload.objects.select_related("tenant").filter(pk=workload_id, deadline_at__lte=now).first()
        if row is None or State(row.state) not in STOPPABLE:
            return False
        end(row, reason=Reason.DEADLINE_STOPPING, by=System(), params={})
        record(System(), row, "stop", after={"deadline_at": row.deadline_at.isoformat() if row.deadline_at else None})
    return True


def over_deadline(limit: int = 200) -> list[UUID]:
    """Live notebooks and endpoints whose time is over, the longest over first."""
    over = Workload.objects.filter(deadline_at__lte=clock.now(), state__in=STOPPABLE)
    return list(over.order_by("deadline_at").values_list("pk", flat=True)[:limit])


def delete(actor: Actor, *, workload_id: UUID, delete_data: bool = False) -> Workload:
    """Removes its objects; runs, allocations and history stay; a notebook's home 7 days unless `delete_data`."""
    with transaction():
        row = changeable(actor, workload_id)
        wanted: dict[str, object] = {
            "wanted": "delete",
            "wanted_by_type": actor.type,
            "wanted_by_label": actor.label,
            "start_requested": False,
        }
        if delete_data:
            wanted["delete_data"] = True
        if row.state == State.DELETING:
            if transitions.amend(row, changes={"delete_data": row.delete_data or delete_data}):
                record(actor, row, "delete", after={"delete_data": True})
        else:
            told = {"by": actor.label}
            transitions.move(
                row, reason=Reason.DELETE_REQUESTED, now=clock.now(), params=told, by=actor, changes=wanted
            )
            record(actor, row, "delete", after={"delete_data": delete_data})
        work.wake("workload", row.pk)
    return row
