"""One pass over one quota row: flavor, cohort, priority (one object each) or queue (ClusterQueue and LocalQueue)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from portal.cluster import selectors as mirror
from portal.cluster.models import Cluster
from portal.cluster.port import ClusterGateway, JsonObject, ObjectRef
from portal.cluster.upkeep import Pass, keep_objects, remove_object
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease, Retry
from quotas import manifests, observe
from quotas.manifests import Place
from quotas.reconcile.recording import forget, record, remove
from quotas.reconcile.rendering import SINGLE, spec_of
from quotas.services import ensure_queue
from tenants import selectors as tenants

__all__ = ["cluster_of", "forget", "one"]


def cluster_of(kind: str, object_id: UUID) -> Cluster | None:
    """The cluster of a row of one of this room's work kinds; None when the row is gone."""
    if kind == "queue":
        space = tenants.space(object_id)
        return space.cluster if space else None
    row = SINGLE[kind].table.objects.select_related("cluster").filter(pk=object_id).first()
    return row.cluster if row else None


def one(lease: Lease, gateway: ClusterGateway) -> float | None:
    """Returns in how many seconds to look again. Raises Retry for what passes by itself, and LeaseLost."""
    done = _queue(lease, gateway) if lease.kind == "queue" else _single(lease, gateway)
    if done is None:
        return None
    if done.retry:
        raise Retry(done.problem, after=done.again)
    return done.again


def _single(lease: Lease, gateway: ClusterGateway) -> Pass | None:
    kind = SINGLE[lease.kind]
    row = kind.table.objects.select_related("cluster").filter(pk=lease.object_id).first()
    if row is None:
        forget(lease)
        return None
    place = Place(row.cluster.prefix, row.cluster.instance, lease.kind, row.pk)
    manifest = kind.render(row, place)
    if row.deleting:
        gone = remove_object(lease, gateway, row.cluster.instance, ObjectRef.of(manifest))
        if gone is None:
            return remove(lease, row)
        return record(lease, row, gone)
    return record(lease, row, keep_objects(lease, gateway, row.cluster, [manifest], row))


def _queue(lease: Lease, gateway: ClusterGateway) -> Pass | None:
    """The ClusterQueue at once; the LocalQueue when the team's namespace is there (its row then wakes this one)."""
    space = tenants.space(lease.object_id)
    if space is None:
        forget(lease)
        return None
    with transaction():
        row = ensure_queue(space.tenant_id, space.cluster_id)
    objects = manifests.queue(Place(space.cluster.prefix, space.cluster.instance, "queue", row.pk), spec_of(space, row))
    done = keep_objects(lease, gateway, space.cluster, objects if space.ready else objects[:1], row)
    return record(lease, row, done, extra=_activity(space.cluster_id, objects[:1]))


def _activity(cluster_id: UUID, objects: list[JsonObject]) -> dict[str, Any]:
    """Whether Kueue takes work into the ClusterQueue, as the mirror says; nothing while it says nothing."""
    for seen in mirror.mirrored(cluster_id, objects).values():
        condition = observe.condition(seen.data, "Active")
        if condition is not None:
            active = condition.get("status") == "True"
            return {"active": active, "problem": "" if active else str(condition.get("message", ""))[:1000]}
    return {}
