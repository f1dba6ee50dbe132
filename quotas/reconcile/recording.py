"""What came of a pass, written under the lease: the row, and the platform's feed where others had a hand in it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Model, ProtectedError
from django.utils.translation import gettext_noop

from portal.cluster.applied import Outcome
from portal.cluster.upkeep import Pass
from portal.kernel import clock, feed, work
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease
from quotas.models import Cohort, Flavor, PriorityClass, Queue

SingleRow = Flavor | Cohort | PriorityClass


def record(lease: Lease, row: SingleRow | Queue, done: Pass, *, extra: dict[str, Any] | None = None) -> Pass:
    with transaction():
        lease.fence()
        stored = type(row).objects.filter(pk=row.pk)
        if done.outcome is None:
            stored.update(**{**(extra or {}), "problem": done.problem})
            return done
        values = {"problem": "", **(extra or {})}
        stored.update(applied=done.outcome.applied, synced_at=clock.now(), **values)
        _tell(lease.kind, row.pk, done.outcome)
    return done


def remove(lease: Lease, row: Model) -> Pass | None:
    """The cluster has confirmed: the row goes, unless history still names it; then it stays unchoosable for good."""
    with transaction():
        lease.fence()
        work.forget(lease.kind, lease.object_id)
        try:
            with transaction():
                row.delete()
        except ProtectedError:
            type(row).objects.filter(pk=row.pk).update(problem="", applied={})  # type: ignore[attr-defined]
    return None


def forget(lease: Lease) -> None:
    """The row is gone: nothing remains to be kept true."""
    with transaction():
        lease.fence()
        work.forget(lease.kind, lease.object_id)


def _tell(kind: str, key: UUID, outcome: Outcome) -> None:
    """The platform's feed says what others did to quota objects and that it was put right."""
    for drift in outcome.drift:
        feed.append(
            scope=feed.PLATFORM,
            topic=kind,
            object_id=key,
            type="mended",
            reason="drift",
            message=gettext_noop("%(object)s had been changed outside and was put right (%(managers)s)."),
            params={"object": drift.key, "managers": ", ".join(sorted(set(drift.managers.values()))) or "?"},
        )
    for made_again in outcome.recreated:
        feed.append(
            scope=feed.PLATFORM,
            topic=kind,
            object_id=key,
            type="recreated",
            reason="deleted_outside",
            message=gettext_noop("%(object)s had been deleted outside and was made again."),
            params={"object": made_again},
        )
