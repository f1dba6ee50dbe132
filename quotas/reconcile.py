"""One pass over one quota row: flavor, cohort, priority (one object each) or queue (ClusterQueue and LocalQueue)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Model, ProtectedError
from django.utils.translation import gettext_noop

from portal.cluster import selectors as mirror
from portal.cluster.applied import Outcome
from portal.cluster.models import Cluster
from portal.cluster.port import ClusterGateway, JsonObject, ObjectRef
from portal.cluster.upkeep import Pass, keep_objects, remove_object
from portal.kernel import clock, feed, work
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease, Retry
from quotas import manifests, observe, selectors
from quotas.arithmetic import Share
from quotas.manifests import Cell, Place, QueueSpec
from quotas.models import Cohort, Flavor, PriorityClass, Queue
from quotas.services import ensure_queue
from tenants import selectors as tenants
from tenants.policies import is_active

if TYPE_CHECKING:
    from tenants.models import TenantSpace

SingleRow = Flavor | Cohort | PriorityClass


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
            return _remove(lease, row)
        return _record(lease, row, gone)
    return _record(lease, row, keep_objects(lease, gateway, row.cluster, [manifest], row))


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
    return _record(lease, row, done, extra=_activity(space.cluster_id, objects[:1]))


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


def _activity(cluster_id: UUID, objects: list[JsonObject]) -> dict[str, Any]:
    """Whether Kueue takes work into the ClusterQueue, as the mirror says; nothing while it says nothing."""
    for seen in mirror.mirrored(cluster_id, objects).values():
        condition = observe.condition(seen.data, "Active")
        if condition is not None:
            active = condition.get("status") == "True"
            return {"active": active, "problem": "" if active else str(condition.get("message", ""))[:1000]}
    return {}


def _record(lease: Lease, row: SingleRow | Queue, done: Pass, *, extra: dict[str, Any] | None = None) -> Pass:
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


def _remove(lease: Lease, row: Model) -> Pass | None:
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
