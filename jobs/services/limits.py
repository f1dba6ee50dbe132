"""What a new live workload must pass besides its own request: the team's limit, and a free name."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.errors import NameTaken
from jobs.models import TenantGate, Workload
from jobs.states import State
from portal.kernel.errors import Conflict

NOBODY = UUID(int=0)


def pass_gate(tenant_id: UUID, limit: int | None) -> None:
    """First statement of whatever adds a live workload: one at a time where the policy has a limit.

    The touched row is locked until the transaction ends, so parallel submits count each other.
    """
    if limit is None:
        return
    if not TenantGate.objects.filter(tenant_id=tenant_id).update(passed=F("passed") + 1):
        TenantGate.objects.get_or_create(tenant_id=tenant_id)
        TenantGate.objects.filter(tenant_id=tenant_id).update(passed=F("passed") + 1)
    check_live(tenant_id, limit)


def check_place(tenant_id: UUID, kind: str, name: str, limit: int | None) -> None:
    """What a dry run can tell of other workloads: the limit and the name. Raises what `submit` would."""
    if limit is not None:
        check_live(tenant_id, limit)
    refuse_taken_name(tenant_id, kind, name)


def check_live(tenant_id: UUID, limit: int) -> None:
    """Conflict `max_live` where the team has no place left."""
    count = selectors.live_count(tenant_id)
    if count >= limit:
        message = _(
            "The team's policy allows %(limit)s workloads at a time that are not stopped, finished or being deleted; "
            "there are %(count)s."
        )
        raise Conflict(message % {"limit": limit, "count": count}, code="max_live")


def refuse_taken_name(tenant_id: UUID, kind: str, name: str, *, but: UUID = NOBODY) -> None:
    holding = Workload.objects.filter(tenant_id=tenant_id, kind=kind, name=name)
    free = [State.SUCCEEDED, State.FAILED, State.DELETED]
    holder = holding.exclude(state__in=free).exclude(pk=but).only("id", "state").first()
    if holder is not None:
        raise taken(name, holder)


def taken(name: str, holder: Workload | None = None) -> NameTaken:
    if holder is None:
        return NameTaken(_("The name “%(name)s” is in use.") % {"name": name})
    values = {"name": name, "id": holder.pk, "state": holder.state}
    message = _("The name “%(name)s” is in use by %(id)s (%(state)s).") % values
    return NameTaken(message, holder=str(holder.pk))
