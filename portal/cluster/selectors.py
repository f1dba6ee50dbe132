"""Questions to the mirror. The callers have checked who asks; every function makes a fixed number of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from portal.cluster.applied import key_of
from portal.cluster.models import MirrorObject, MirrorStream, PendingOrder

CHUNK = 500


@dataclass(frozen=True)
class NodeCapacity:
    """One node: `capacity` and `allocatable` are Kubernetes quantities by resource name, as text.

    `ready`: it answers. `schedulable`: it takes new pods. Only nodes that are both count as capacity.
    """

    name: str
    labels: Mapping[str, str]
    ready: bool
    schedulable: bool
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]


@dataclass(frozen=True)
class Capacity:
    """All nodes, as of a moment; `as_of` None: not known yet, and then `nodes` says nothing."""

    nodes: tuple[NodeCapacity, ...]
    as_of: datetime | None


def as_of(cluster_id: UUID, kind: str) -> datetime | None:
    """When the mirror of a kind last heard from the server; None: it has never been listed whole."""
    return MirrorStream.objects.filter(cluster=cluster_id, kind=kind).values_list("synced_at", flat=True).first()


@dataclass(frozen=True)
class Content:
    """What the mirror of some kinds was at a moment: equal `marks` mean equal rows. `as_of`: by kind, None where it was
    never listed whole."""

    marks: tuple[tuple[str, UUID], ...]
    as_of: Mapping[str, datetime | None]


def content(cluster_id: UUID, kinds: Collection[str]) -> Content:
    """Read before the rows: what is made from them holds for as long as the marks are these. One query."""
    rows = MirrorStream.objects.filter(cluster=cluster_id, kind__in=kinds).order_by("kind")
    found = list(rows.values_list("kind", "content", "synced_at"))
    return Content(tuple((kind, mark) for kind, mark, _ in found), {kind: at for kind, _, at in found})


def versions(kind: str) -> str:
    """Changes with whatever the streams of a kind say, on any cluster: pages compare it instead of rendering again."""
    rows = MirrorStream.objects.filter(kind=kind).order_by("cluster_id")
    return "-".join(rows.values_list("resource_version", flat=True))


def objects_of_workload(workload_id: UUID) -> list[MirrorObject]:
    """Every mirrored object that carries the workload's label, of all its runs, and the Kueue Workloads behind them."""
    mine = MirrorObject.objects.filter(workload_id=workload_id).exclude(kind="Event")
    return list(mine.order_by("kind", "name"))


def mirrored(cluster_id: UUID, manifests: Iterable[Mapping[str, Any]]) -> dict[str, MirrorObject]:
    """The mirror's rows of these manifests' objects, by `applied.key_of`; what is missing there is left out."""
    places = {(m["kind"], m["metadata"].get("namespace") or "", m["metadata"]["name"]): key_of(m) for m in manifests}
    if not places:
        return {}
    found = MirrorObject.objects.filter(
        cluster=cluster_id, kind__in={kind for kind, _, _ in places}, name__in={name for _, _, name in places}
    )
    return {
        places[row.kind, row.namespace, row.name]: row for row in found if (row.kind, row.namespace, row.name) in places
    }


def by_uids(cluster_id: UUID, uids: Collection[str], *, kind: str = "") -> list[MirrorObject]:
    """Objects by uid."""
    rows = MirrorObject.objects.filter(cluster=cluster_id, uid__in=uids)
    return list(rows.filter(kind=kind) if kind else rows)


def kueue_workloads(cluster_id: UUID, owner_uids: Collection[str]) -> list[MirrorObject]:
    """The Kueue Workloads that stand for these Jobs, StatefulSets or pods, oldest first."""
    mine = Q(job_uid__in=owner_uids) | Q(owner_uid__in=owner_uids)
    return list(MirrorObject.objects.filter(mine, cluster=cluster_id, kind="Workload").order_by("id"))


def events_of(cluster_id: UUID, uids: Collection[str]) -> list[MirrorObject]:
    """The Kubernetes Events about these objects (kind Event; `data` has involvedObject, reason, message, times)."""
    return list(MirrorObject.objects.filter(cluster=cluster_id, kind="Event", owner_uid__in=uids).order_by("id"))


def reserved(cluster_id: UUID) -> list[MirrorObject]:
    """The Kueue Workloads that hold quota now, other people's included (`data.status.admission`)."""
    return list(MirrorObject.objects.filter(cluster=cluster_id, kind="Workload", state="reserved"))


def pending(cluster_id: UUID, cluster_queues: Collection[str]) -> list[MirrorObject]:
    """The Kueue Workloads that wait for quota in these ClusterQueues, in Kueue's order: queue by queue, as it told,
    else by priority, time of queueing, uid. `workload_id` is set where one of ours stands behind it."""
    queues = {
        (row.namespace, row.name): str((row.data.get("spec") or {}).get("clusterQueue") or "")
        for row in MirrorObject.objects.filter(cluster=cluster_id, kind="LocalQueue")
    }
    wanted = {place: queue for place, queue in queues.items() if queue in cluster_queues}
    rows = MirrorObject.objects.filter(
        cluster=cluster_id, kind="Workload", state="pending", namespace__in={namespace for namespace, _ in wanted}
    )
    found = []
    for row in rows:
        spec = row.data.get("spec") or {}
        queue = wanted.get((row.namespace, str(spec.get("queueName") or "")))
        if queue is not None:
            found.append((queue, -int(spec.get("priority") or 0), queued_at(row), row.uid, row))
    ours = [place[-1] for place in sorted(found, key=lambda place: place[:-1])]
    told = [key for _, keys in sorted(pending_orders(cluster_id).items()) for key in keys]
    places = {key: place for place, key in enumerate(told)}
    known = [places.get(f"{row.namespace}/{row.name}") for row in ours]
    if None in known:
        return ours
    return sorted(ours, key=lambda row: places[f"{row.namespace}/{row.name}"])


def pending_orders(cluster_id: UUID) -> dict[str, list[str]]:
    """ClusterQueue -> "namespace/name" of what waits in it, in the order in which Kueue says that it will try them."""
    return dict(PendingOrder.objects.filter(cluster=cluster_id).values_list("queue", "keys"))


def queued_at(row: MirrorObject) -> str:
    """The time by which Kueue orders a waiting Workload: its creation, or its eviction for unready pods."""
    for condition in (row.data.get("status") or {}).get("conditions") or []:
        evicted = condition.get("type") == "Evicted" and condition.get("status") == "True"
        if evicted and condition.get("reason") == "PodsReadyTimeout":
            return str(condition.get("lastTransitionTime") or "")
    return str((row.data.get("metadata") or {}).get("creationTimestamp") or "")


def capacity(cluster_id: UUID) -> Capacity:
    """The nodes with what they have, labels to tell flavors apart."""
    rows = MirrorObject.objects.filter(cluster=cluster_id, kind="Node").order_by("name")
    return Capacity(tuple(_node(row) for row in rows), as_of(cluster_id, "Node"))


@dataclass(frozen=True)
class Glance:
    """What one cluster has and who holds it: `reserved` are the Kueue Workloads with quota, as of `reserved_as_of`."""

    capacity: Capacity
    reserved: tuple[MirrorObject, ...]
    reserved_as_of: datetime | None


def glance(cluster_ids: Collection[UUID]) -> dict[UUID, Glance]:
    """`capacity` and `reserved` of several clusters, by two queries however many they are."""
    streams = MirrorStream.objects.filter(cluster__in=cluster_ids, kind__in=("Node", "Workload"))
    told = {(cluster, kind): at for cluster, kind, at in streams.values_list("cluster_id", "kind", "synced_at")}
    wanted = Q(kind="Node") | Q(kind="Workload", state="reserved")
    rows = list(MirrorObject.objects.filter(wanted, cluster__in=cluster_ids).order_by("name"))
    return {
        cluster_id: Glance(
            Capacity(
                tuple(_node(row) for row in rows if row.cluster_id == cluster_id and row.kind == "Node"),
                told.get((cluster_id, "Node")),
            ),
            tuple(row for row in rows if row.cluster_id == cluster_id and row.kind == "Workload"),
            told.get((cluster_id, "Workload")),
        )
        for cluster_id in cluster_ids
    }


def _node(row: MirrorObject) -> NodeCapacity:
    spec, status = row.data.get("spec") or {}, row.data.get("status") or {}
    ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or [])
    kept_off = {t.get("key") for t in spec.get("taints") or [] if t.get("effect") in ("NoSchedule", "NoExecute")}
    schedulable = not spec.get("unschedulable") and not any(
        str(key).startswith("node.kubernetes.io/") for key in kept_off
    )
    return NodeCapacity(
        row.name,
        (row.data.get("metadata") or {}).get("labels") or {},
        ready,
        schedulable,
        status.get("capacity") or {},
        status.get("allocatable") or {},
    )


@dataclass(frozen=True)
class Placed:
    """A pod that takes room on a node: `requests` are Kubernetes quantities by resource name, as text."""

    node: str
    requests: Mapping[str, str]
    workload_id: UUID | None = None


def placed(cluster_id: UUID) -> list[Placed]:
    """Our pods that are on a node and have not ended. Other people's pods are not mirrored."""
    rows = MirrorObject.objects.filter(cluster=cluster_id, kind="Pod")
    fields = ("data__spec__nodeName", "data__spec__requests", "workload_id", "data__status__phase")
    found = rows.values_list(*fields)
    return [
        Placed(node, requests or {}, of)
        for node, requests, of, phase in found
        if node and phase not in ("Succeeded", "Failed")
    ]


def of_kinds(cluster_id: UUID, kinds: Collection[str]) -> list[MirrorObject]:
    """Everything mirrored of these kinds, by kind and name."""
    return list(MirrorObject.objects.filter(cluster=cluster_id, kind__in=kinds).order_by("kind", "name"))


Mark = tuple[object, ...]


def mark_of(row: MirrorObject) -> Mark:
    """Another one whenever the row says something else."""
    return row.resource_version, row.seen_at, row.workload_id


def unfinished(cluster_id: UUID, known: Mapping[UUID, Mark]) -> tuple[list[MirrorObject], set[UUID]]:
    """The Kueue Workloads that wait for quota or hold it, other people's included: those that are not `known` by this
    mark already, and the ids of all. One query where nothing is known, at most two for each thousand rows that changed.
    """
    rows = MirrorObject.objects.filter(cluster=cluster_id, kind="Workload", state__in=["pending", "reserved"])
    if known:
        told = rows.values_list("pk", "resource_version", "seen_at", "workload_id")
        marks: dict[UUID, Mark] = {pk: tuple(mark) for pk, *mark in told}
        changed = [pk for pk, mark in marks.items() if known.get(pk) != mark]
        if len(changed) <= len(marks) // 2:
            chunks = (changed[start : start + CHUNK] for start in range(0, len(changed), CHUNK))
            found = [row for chunk in chunks for row in rows.filter(pk__in=chunk)]
            return found, set(marks) - set(changed) | {row.pk for row in found}
    found = list(rows)
    return found, {row.pk for row in found}
