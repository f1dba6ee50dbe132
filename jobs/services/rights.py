"""Who may change a workload."""

from __future__ import annotations

from uuid import UUID

from django.db import connection
from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.models import Workload
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied
from tenants.policies import require_scope


def changeable(actor: Actor, workload_id: UUID) -> Workload:
    """The row as it is now, and as it stays until the transaction ends.

    NotFound for outsiders, Denied for those who may only read it.
    """
    row = selectors.workload(actor, workload_id)
    require_scope(actor, "write")
    if not selectors.may(actor, row).change:
        raise Denied(_("Only its owner and the team's managers may do this."))
    return row if hold(workload_id) else selectors.workload(actor, workload_id)


def hold(workload_id: UUID) -> bool:
    """Nobody else changes the workload until the transaction ends; False where it may have changed just before.

    Where the database lets one write at a time, that is so already.
    """
    if not connection.features.has_select_for_update:
        return True
    work.hold("workload", workload_id)
    list(Workload.objects.select_for_update().filter(pk=workload_id).values_list("pk"))
    return False
