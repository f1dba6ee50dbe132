"""Reading the audit log. Whoever asks for it has checked whose rows the actor may see."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet

from portal.audit.models import AuditEvent


def events(tenant_ids: Iterable[UUID] | None) -> QuerySet[AuditEvent]:
    """Newest first: of these teams only (none given: nothing), or of the whole platform for None."""
    rows = AuditEvent.objects.order_by("-pk")
    return rows if tenant_ids is None else rows.filter(tenant_id__in=list(tenant_ids))
