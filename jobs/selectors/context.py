"""What a request is judged against, read for one team. A constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from jobs.manifests.catalogue import VARIANTS, why_not
from jobs.specs import FlavorFacts, ImageFacts, PolicyFacts, SpecContext
from portal.cluster.models import Cluster
from quotas import selectors as quotas
from tenants.roles import Role

if TYPE_CHECKING:
    from quotas.models import Flavor
    from tenants.models import Policy
    from tenants.selectors import Belonging


def judged_by(team: Belonging, data: Mapping[str, Any]) -> tuple[SpecContext, Flavor | None]:
    """`spec_context`, and the flavor that `data` names (with `cluster` and `as_of`) where the team may name it."""
    asked = data.get("flavor")
    rows = {row.name: row for row in quotas.offered_to(team.tenant)}
    chosen = rows.get(asked) if isinstance(asked, str) else None
    return _context(team, rows, chosen), chosen


def spec_context(team: Belonging, data: Mapping[str, Any]) -> SpecContext:
    """The team's flavors, the catalogue, its policy and the priorities of the cluster that the request's flavor is on.

    Maxima are counted unless `data` names a flavor without GPU.
    """
    return judged_by(team, data)[0]


def _context(team: Belonging, rows: Mapping[str, Flavor], chosen: Flavor | None) -> SpecContext:
    queue = quotas.queue_of(team.tenant.pk, chosen.cluster_id) if chosen else None
    # Without GPUs there is nothing to count; else all at once, by no more queries than for the chosen one.
    counted = [] if chosen and chosen.mode == "none" else [row for row in rows.values() if row.mode != "none"]
    maxima = quotas.maxima(team.tenant, counted) if counted else {}
    known = quotas.priorities(chosen.cluster_id) if chosen else []
    return SpecContext(
        flavors={
            name: FlavorFacts(
                name=name,
                mode=row.mode,
                resource=row.resource,
                memory_mib=row.memory_mib,
                max_per_node=row.max_per_node,
                maximum=maxima.get(row.pk),
            )
            for name, row in rows.items()
        },
        images={row.name: ImageFacts(row.name, row.reference, frozenset(row.kinds)) for row in quotas.images()},
        policy=_policy(team.policy),
        priorities={row.name: row.managers_only for row in known},
        default_priority=next((row.name for row in known if row.is_default), ""),
        is_manager=team.role is Role.MANAGER,
        variants=_variants(chosen.cluster if chosen else None),
        cpu_maximum=queue.cpu if queue else None,
        memory_maximum=queue.memory if queue else None,
        translate=gettext,
    )


def _policy(row: Policy) -> PolicyFacts:
    return PolicyFacts(
        images=tuple(row.images),
        default_max_duration=row.default_max_duration,
        longest_max_duration=row.longest_max_duration,
        idle_timeout=row.idle_timeout,
    )


def _variants(cluster: Cluster | None) -> dict[str, str]:
    has_auth_filter = cluster is None or bool(cluster.auth_filter)
    return {key: why_not(key, has_auth_filter=has_auth_filter) for key in VARIANTS}
