"""A new key of an endpoint."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from jobs import selectors, transitions
from jobs.manifests.secrets import Derived
from jobs.services.history import record
from jobs.states import gettext_noop
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied
from portal.kernel.transaction import transaction
from tenants.policies import require_scope

ROTATED = gettext_noop("A new key was made; the next start takes it.")


def rotate_key(actor: Actor, *, workload_id: UUID) -> dict[str, Any]:
    """A new key from the next start on; `{key, rotation}` of that one. Owner and manager."""
    with transaction():
        row = selectors.workload(actor, workload_id)
        require_scope(actor, "write")
        if not selectors.may(actor, row).read_key:
            raise Denied(_("The key is for the endpoint's owner and the team's managers."))
        key_id = next(iter(settings.TOKEN_KEYS))
        transitions.amend(row, changes={"key_rotation": row.key_rotation + 1, "key_id": key_id})
        record(actor, row, "rotate_key", after={"rotation": row.key_rotation})
        transitions.tell(row, entry="change", message=ROTATED, by=actor)
    return selectors.shown(row, Derived(row.kind, row.key_id, row.key_rotation))
