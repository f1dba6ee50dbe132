"""Other ways to ask for the same work: what a person could change, and what that would mean for admission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from jobs.specs import Spec
from quotas import selectors as quotas
from quotas.planning import Asked

if TYPE_CHECKING:
    from quotas.models import Flavor
    from tenants.models import Tenant

# Variants whose nodes share the work: more of them with fewer cards each are the same request.
SPREADS = ("indexed",)


def candidates(
    asked: Asked, spec: Spec, tenant: Tenant, flavor: Flavor, *, manager: bool
) -> Iterable[tuple[Mapping[str, object], Asked]]:
    """Other ways to ask, the closest first: the same cards over more nodes, fewer cards, another flavor, fewer nodes,
    another priority."""
    yield from _spread(asked, spec)
    for units in sorted({spec.gpus // 2, 1}, reverse=True):
        if 0 < units < spec.gpus:
            yield {"gpus": units}, replace(asked, requests={**asked.requests, asked.resource: units})
    yield from _other_flavors(asked, spec, tenant, flavor)
    if spec.pods > 1 and spec.kind == "training":
        for pods in sorted({spec.pods // 2, 1}, reverse=True):
            yield {"nodes": pods}, replace(asked, pods=pods, min_pods=None)
    for row in quotas.priorities(flavor.cluster_id):
        if row.name != spec.priority and (manager or not row.managers_only):
            yield {"priority": row.name}, replace(asked, priority=row.value)


def _other_flavors(
    asked: Asked, spec: Spec, tenant: Tenant, flavor: Flavor
) -> Iterable[tuple[Mapping[str, object], Asked]]:
    rows = [row for row in quotas.live_flavors() if row.cluster_id == flavor.cluster_id and row.pk != flavor.pk]
    offered = [row for row in rows if row.resource and spec.gpus]
    maxima = quotas.maxima(tenant, offered)
    for row in offered:
        units = min(spec.gpus, row.max_per_node)
        if units and units * spec.pods <= maxima[row.pk]:
            requests = {name: amount for name, amount in asked.requests.items() if name != asked.resource}
            change: dict[str, object] = {"flavor": row.name} | ({"gpus": units} if units != spec.gpus else {})
            other = replace(
                asked,
                flavor=quotas.kueue_name(row),
                resource=row.resource,
                requests={**requests, row.resource: units},
            )
            yield change, other


def _spread(asked: Asked, spec: Spec) -> Iterable[tuple[Mapping[str, object], Asked]]:
    """As many cards in all, fewer of them on each node."""
    if spec.variant not in SPREADS or getattr(spec, "min_nodes", None) is not None:
        return
    for units in range(spec.gpus - 1, 0, -1):
        if spec.gpus * spec.pods % units == 0:
            pods = spec.gpus * spec.pods // units
            requests = {**asked.requests, asked.resource: units}
            yield {"gpus": units, "nodes": pods}, replace(asked, pods=pods, requests=requests)
