"""Every command leaves an audit row in its own transaction; the feed is written by `transitions`."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.models import Workload
from portal.audit import services as audit
from portal.kernel.actors import Actor


def record(
    actor: Actor,
    row: Workload,
    verb: str,
    *,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """`workload.<verb>`; values of environment variables are left out by the caller."""
    audit.record(
        actor=actor,
        verb=f"workload.{verb}",
        target_type="workload",
        target_id=row.pk,
        target_label=row.name,
        tenant_id=row.tenant_id,
        tenant_slug=row.tenant.slug,
        before=before,
        after=after,
    )
