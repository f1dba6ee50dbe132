"""What a request is judged against, read for one team. A constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from jobs.manifests.catalogue import VARIANTS, why_not
from jobs.specs import FlavorFacts, ImageFacts, PolicyFacts, SpecContext
from portal.cluster.models import Cluster
from quotas import selectors as quotas
from tenants import selectors as tenants
from tenants.roles import Role

if TYPE_CHECKING:
    from tenants.models import Tenant


def spec_context(tenant: Tenant, role: Role | None, data: Mapping[str, Any]) -> SpecContext:
    """The team's flavors, the catalogue, its policy and the priorities of the cluster that the request's flavor is on.

    The maximum is looked up for the flavor that `data` names, since it costs queries of its own.
    """
    asked = data.get("flavor")
    usable = quotas.live_flavors().filter(cluster_id__in=tenants.cluster_ids([tenant.pk]))
    rows = {row.name: row for row in usable}
    chosen = rows.get(asked) if isinstance(asked, str) else None
    queue = quotas.queue_of(tenant.pk, chosen.cluster_id) if chosen else None
    known = quotas.priorities(chosen.cluster_id) if chosen else []
    return SpecContext(
        flavors={
            name: FlavorFacts(
                name=name,
                mode=row.mode,
                resource=row.resource,
                memory_mib=row.memory_mib,
                max_per_node=row.max_per_node,
                maximum=quotas.maximum(tenant.pk, row) if row is chosen and row.mode != "none" else None,
            )
            for name, row in rows.items()
        },
        images={row.name: ImageFacts(row.name, row.reference, frozenset(row.kinds)) for row in quotas.images()},
        policy=_policy(tenant),
        priorities={row.name: row.managers_only for row in known},
        default_priority=next((row.name for row in known if row.is_default), ""),
        is_manager=role is Role.MANAGER,
        variants=_variants(chosen.cluster if chosen else None),
        cpu_maximum=queue.cpu if queue else None,
        memory_maximum=queue.memory if queue else None,
        translate=gettext,
    )


def _policy(tenant: Tenant) -> PolicyFacts:
    row = tenants.policy_of(tenant.pk)
    return PolicyFacts(
        images=tuple(row.images),
        default_max_duration=row.default_max_duration,
        longest_max_duration=row.longest_max_duration,
        idle_timeout=row.idle_timeout,
    )


def _variants(cluster: Cluster | None) -> dict[str, str]:
    has_auth_filter = cluster is None or bool(cluster.auth_filter)
    return {key: why_not(key, has_auth_filter=has_auth_filter) for key in VARIANTS}
