"""The feed: what happened, per scope, in commit order. Live pages, long polls and notices read it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.models import FeedEntry, FeedScope
from portal.kernel.transaction import current

PLATFORM = "platform"


def tenant_scope(tenant_id: UUID) -> str:
    """The scope that everybody of one tenant reads."""
    return f"tenant:{tenant_id}"


def append(  # noqa: PLR0913  the columns of one row, all by name
    *,
    scope: str,
    topic: str,
    object_id: UUID,
    type: str,  # noqa: A002  the column's own word
    source: str = "turno",
    reason: str = "",
    message: str = "",
    params: Mapping[str, object] | None = None,
    by: Actor | None = None,
    run: int | None = None,
    at: datetime | None = None,
    event_uid: str | None = None,
) -> None:
    """Adds one entry to the open transaction. `message` is a msgid, `params` its values (JSON)."""
    current().entries.append(
        FeedEntry(
            scope=scope,
            topic=topic,
            object_id=object_id,
            run=run,
            at=at or clock.now(),
            source=source,
            type=type,
            reason=reason,
            message=message,
            params=dict(params or {}),
            by_type=by.type if by else "",
            by_label=by.label if by else "",
            event_uid=event_uid,
        )
    )


def of_object(object_id: UUID) -> QuerySet[FeedEntry]:
    """Everything that happened to one object, oldest first. The caller has checked who asks."""
    return FeedEntry.objects.filter(object_id=object_id).order_by("seq")


def since(scope: str, seq: int) -> QuerySet[FeedEntry]:
    """What came after `seq` in one scope."""
    return FeedEntry.objects.filter(scope=scope, seq__gt=seq).order_by("seq")


def last_seqs(scopes: list[str]) -> dict[str, int]:
    """The newest number of each scope; a scope without entries is missing."""
    return dict(FeedScope.objects.filter(scope__in=scopes).values_list("scope", "last_seq"))
