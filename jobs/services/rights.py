"""Who may change a workload."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.models import Workload
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied
from tenants.policies import require_scope


def changeable(actor: Actor, workload_id: UUID) -> Workload:
    """The row as it is now. NotFound for outsiders, Denied for those who may only read it."""
    row = selectors.workload(actor, workload_id)
    require_scope(actor, "write")
    if not selectors.may(actor, row).change:
        raise Denied(_("Only its owner and the team's managers may do this."))
    return row
