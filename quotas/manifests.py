"""Quota rows -> Kueue's objects (v1beta2). Pure: whole dicts, in the order in which they have to exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from portal.cluster import names
from portal.cluster.port import KUEUE
from quotas.arithmetic import Share

Manifest = dict[str, Any]
CPU_FLAVOR = "cpu"
RECLAIM = ("Never", "LowerPriority", "Any")
WITHIN_QUEUE = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")


@dataclass(frozen=True)
class Place:
    """Where objects go: the cluster's prefix, the instance of Turno, and the row that keeps them true."""

    prefix: str
    instance: str
    work_kind: str
    row_id: UUID

    def name(self, of: str) -> str:
        return names.prefixed(self.prefix, of)

    def labels(self) -> dict[str, str]:
        return {**names.base_labels(self.instance), **names.object_label(self.work_kind, self.row_id)}


@dataclass(frozen=True)
class Cell:
    """Units of one resource of one flavor in a queue. `flavor` is the ResourceFlavor's name."""

    flavor: str
    resource: str
    share: Share


@dataclass(frozen=True)
class QueueSpec:
    """One team's queue: a ClusterQueue and the LocalQueue in its namespace. `cohort` is Turno's name or empty."""

    tenant: str
    namespace: str
    cohort: str
    cells: Sequence[Cell]
    cpu: str
    memory: str
    reclaim_within_cohort: str = "Any"
    within_queue: str = "LowerPriority"
    hold: bool = False


def flavor_name(prefix: str, name: str, mode: str) -> str:
    """The ResourceFlavor of a flavor. All CPU is of one: `<prefix>cpu`."""
    return names.prefixed(prefix, CPU_FLAVOR if mode == "none" else name)


def cluster_queue_name(prefix: str, slug: str) -> str:
    """The ClusterQueue of a team."""
    return names.prefixed(prefix, slug)


def local_queue_name(slug: str) -> str:
    """The queue that workloads name: the team's slug."""
    return slug


def resource_flavor(
    place: Place, name: str, *, node_labels: Mapping[str, str], tolerations: Sequence[Mapping[str, Any]]
) -> Manifest:
    """`name` is the object's own. Without labels and tolerations the spec is empty: it fits any node."""
    spec: dict[str, Any] = {}
    if node_labels:
        spec["nodeLabels"] = dict(node_labels)
    if tolerations:
        spec["tolerations"] = [dict(row) for row in tolerations]
    return _cluster_object("ResourceFlavor", name, place, spec=spec)


def cohort(place: Place, name: str, *, parent: str | None) -> Manifest:
    spec = {"parentName": place.name(parent)} if parent else {}
    return _cluster_object("Cohort", place.name(name), place, spec=spec)


def priority_class(place: Place, name: str, *, value: int, description: str) -> Manifest:
    """Kueue's, not the scheduler's: it orders the queue and says who may preempt whom."""
    fields = {"value": value, **({"description": description} if description else {})}
    return _cluster_object("WorkloadPriorityClass", place.name(name), place, **fields)


def queue(place: Place, spec: QueueSpec) -> list[Manifest]:
    """The ClusterQueue, then the LocalQueue. A queue on hold keeps what it admitted and admits nothing new."""
    name = cluster_queue_name(place.prefix, spec.tenant)
    body: dict[str, Any] = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": spec.namespace}},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {
            "reclaimWithinCohort": spec.reclaim_within_cohort,
            "withinClusterQueue": spec.within_queue,
        },
        "resourceGroups": _resource_groups(place, spec),
    }
    if spec.cohort:
        body["cohortName"] = place.name(spec.cohort)
    cluster_queue = _cluster_object("ClusterQueue", name, place, spec=body)
    cluster_queue["metadata"]["labels"][names.TENANT] = spec.tenant
    local_queue = {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {
            "name": local_queue_name(spec.tenant),
            "namespace": spec.namespace,
            "labels": {**place.labels(), names.TENANT: spec.tenant},
        },
        "spec": {"clusterQueue": name, "stopPolicy": "Hold" if spec.hold else "None"},
    }
    return [cluster_queue, local_queue]


def _resource_groups(place: Place, spec: QueueSpec) -> list[dict[str, Any]]:
    """One group of every GPU resource (each flavor lists all of them, 0 where it has none), one of cpu and memory."""
    groups = []
    if spec.cells:
        resources = sorted({cell.resource for cell in spec.cells})
        flavors = sorted({cell.flavor for cell in spec.cells})
        shares = {(cell.flavor, cell.resource): cell.share for cell in spec.cells}
        groups.append(
            {
                "coveredResources": resources,
                "flavors": [
                    {
                        "name": flavor,
                        "resources": [
                            _cell(resource, shares.get((flavor, resource)), in_cohort=bool(spec.cohort))
                            for resource in resources
                        ],
                    }
                    for flavor in flavors
                ],
            }
        )
    plain = [{"name": "cpu", "nominalQuota": spec.cpu}, {"name": "memory", "nominalQuota": spec.memory}]
    groups.append(
        {"coveredResources": ["cpu", "memory"], "flavors": [{"name": place.name(CPU_FLAVOR), "resources": plain}]}
    )
    return groups


def _cell(resource: str, share: Share | None, *, in_cohort: bool) -> dict[str, Any]:
    """Limits mean nothing outside a cohort, and Kueue refuses them there."""
    if share is None:
        return {"name": resource, "nominalQuota": "0"}
    cell = {"name": resource, "nominalQuota": str(share.nominal)}
    if in_cohort and share.borrowing_limit is not None:
        cell["borrowingLimit"] = str(share.borrowing_limit)
    if in_cohort and share.lending_limit is not None:
        cell["lendingLimit"] = str(share.lending_limit)
    return cell


def _cluster_object(kind: str, name: str, place: Place, **fields: Any) -> Manifest:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name, "labels": place.labels()}, **fields}
