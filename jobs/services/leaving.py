"""What becomes of work whose team is archived, or whose owner leaves the team. Asked by the sweep and by wakes."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_noop

from jobs.models import Workload
from jobs.services.ending import STOPPABLE, end
from jobs.services.history import record
from jobs.services.rights import hold
from jobs.states import LIVE_STATES, Reason, State
from portal.kernel import feed
from portal.kernel.actors import System
from portal.kernel.transaction import transaction
from tenants import selectors as tenants

ARCHIVED = (State.SUBMITTED, *STOPPABLE)
LEFT = gettext_noop("%(username)s left the team. This goes on as the team's; a manager can stop it.")


def in_archived_teams(limit: int = 200) -> list[UUID]:
    """Work that still goes on in an archived team, oldest first."""
    rows = Workload.objects.filter(tenant__state="archived", state__in=ARCHIVED)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:limit])


def stop_in_archived_team(*, workload_id: UUID) -> bool:
    """The sweep's stop; False where somebody else was there first."""
    with transaction():
        hold(workload_id)
        row = Workload.objects.select_related("tenant").filter(pk=workload_id, state__in=ARCHIVED).first()
        if row is None:
            return False
        system = System()
        end(row, reason=Reason.STOP_REQUESTED, by=system, params={"by": system.label})
        record(system, row, "stop", after={"tenant": "archived"})
    return True


def tell_of_departure(*, user_id: UUID) -> int:
    """Every live workload that the person has in a team without belonging to it gets an event, once a run.

    Returns how many it looked at. Nothing is stopped: the work is the team's, and its managers decide.
    """
    rows = Workload.objects.filter(owner_type="person", owner_id=user_id, state__in=LIVE_STATES)
    orphaned = list(rows.exclude(tenant_id__in=tenants.teams_of(user_id)))
    with transaction():
        for row in orphaned:
            feed.append(
                scope=feed.tenant_scope(row.tenant_id),
                topic="workload",
                object_id=row.pk,
                run=row.run_number,
                type="owner_left",
                message=LEFT,
                params={"username": row.owner_label},
                event_uid=f"owner_left:{row.pk}:{row.run_number}",
            )
    return len(orphaned)
