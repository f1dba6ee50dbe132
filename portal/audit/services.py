"""Writing the audit log: always inside the transaction of the command it tells of."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import structlog

from portal.audit.models import AuditEvent
from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.transaction import current


def record(  # noqa: PLR0913  the columns of one row, all by name
    *,
    actor: Actor,
    verb: str,
    target_type: str,
    target_id: object,
    target_label: str = "",
    tenant_id: UUID | None = None,
    tenant_slug: str = "",
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """Adds one row to the open transaction; RuntimeError outside of one. The caller leaves secrets out."""
    current()
    context = structlog.contextvars.get_contextvars()
    AuditEvent.objects.create(
        at=clock.now(),
        actor_type=actor.type,
        actor_id=actor.id,
        actor_label=actor.label,
        verb=verb,
        target_type=target_type,
        target_id=str(target_id),
        target_label=target_label,
        tenant_id=tenant_id,
        tenant_slug=tenant_slug,
        before=dict(before) if before is not None else None,
        after=dict(after) if after is not None else None,
        request_id=str(context.get("request_id", "")),
    )
