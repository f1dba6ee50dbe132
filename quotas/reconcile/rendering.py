"""Rows of this room as the objects they become: which table a work kind is of, and what a queue is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from portal.cluster.port import JsonObject
from quotas import manifests, selectors
from quotas.arithmetic import Share
from quotas.manifests import Cell, Place, QueueSpec
from quotas.models import Cohort, Flavor, PriorityClass, Queue
from tenants.policies import is_active

if TYPE_CHECKING:
    from tenants.models import TenantSpace


@dataclass(frozen=True)
class Kind:
    """One table whose rows become one object each."""

    table: type[Flavor] | type[Cohort] | type[PriorityClass]
    render: Callable[[Any, Place], JsonObject]


def _flavor(row: Flavor, place: Place) -> JsonObject:
    name = manifests.flavor_name(place.prefix, row.name, row.mode)
    return manifests.resource_flavor(place, name, node_labels=row.node_labels, tolerations=row.tolerations)


def _cohort(row: Cohort, place: Place) -> JsonObject:
    return manifests.cohort(place, row.name, parent=row.parent.name if row.parent else None)


def _priority(row: PriorityClass, place: Place) -> JsonObject:
    return manifests.priority_class(place, row.name, value=row.value, description=row.description)


SINGLE: dict[str, Kind] = {
    "flavor": Kind(Flavor, _flavor),
    "cohort": Kind(Cohort, _cohort),
    "priority": Kind(PriorityClass, _priority),
}


def spec_of(space: TenantSpace, row: Queue) -> QueueSpec:
    """The team's queue as quotas, policy and state of the team want it now."""
    prefix = space.cluster.prefix
    cells = [
        Cell(
            manifests.flavor_name(prefix, quota.flavor.name, quota.flavor.mode),
            quota.resource,
            Share(quota.nominal, quota.borrowing_limit, quota.lending_limit),
        )
        for quota in selectors.quotas_of(space.tenant_id, space.cluster_id)
    ]
    return QueueSpec(
        tenant=space.tenant.slug,
        namespace=space.namespace,
        cohort=space.tenant.cohort,
        cells=cells,
        cpu=row.cpu,
        memory=row.memory,
        reclaim_within_cohort=row.reclaim_within_cohort,
        within_queue=row.within_queue,
        hold=not is_active(space.tenant),
    )
