"""A cluster, and what its mirror says."""

from __future__ import annotations

import itertools
from typing import Any

from portal.cluster import content, names
from portal.cluster.models import Cluster, MirrorObject, MirrorStream
from portal.cluster.port import ClusterGateway
from portal.kernel import clock, ids

_numbers = itertools.count(1)


def cluster(name: str = "demo", **fields: object) -> Cluster:
    """A cluster whose connection is called `default`."""
    return Cluster.objects.create(name=name, **fields)


def synced(on: Cluster, *kinds: str) -> None:
    """The mirror of these kinds has been filled and is as of now."""
    for kind in kinds:
        MirrorStream.objects.update_or_create(
            cluster=on,
            kind=kind,
            defaults={"resource_version": "1", "synced_at": clock.now(), "listed_at": clock.now()},
        )


def mirrored(on: Cluster, obj: dict[str, Any], **fields: object) -> MirrorObject:
    """The mirror's row of an object as Kubernetes would show it; uid and resourceVersion are given where missing."""
    number = next(_numbers)
    metadata = {"uid": f"00000000-0000-4000-8000-{number:012d}", "resourceVersion": str(number), **obj["metadata"]}
    obj = {**obj, "metadata": metadata}
    labels = metadata.get("labels") or {}
    row: dict[str, object] = {
        "namespace": metadata.get("namespace", ""),
        "uid": metadata["uid"],
        "resource_version": metadata["resourceVersion"],
        "ours": names.is_ours(labels, on.instance),
        "workload_id": labels.get(names.WORKLOAD),
        "run": labels.get(names.RUN),
        "owner_uid": content.owner_uid(obj),
        "job_uid": content.job_uid(obj),
        "state": content.state(obj),
        "content_hash": content.content_hash(obj),
        "data": content.trim(obj),
        "seen_at": clock.now(),
        **fields,
    }
    found = MirrorObject.objects.create(cluster=on, kind=obj["kind"], name=metadata["name"], **row)
    changed(on, obj["kind"])
    return found


def changed(on: Cluster, kind: str) -> None:
    """As the mirror's writer says it in its transaction: the rows of this kind are not what they were."""
    MirrorStream.objects.filter(cluster=on, kind=kind).update(content=ids.uuid7())


def node(
    on: Cluster,
    name: str,
    allocatable: dict[str, str],
    *,
    labels: dict[str, str] | None = None,
    ready: bool = True,
    unschedulable: bool = False,
) -> MirrorObject:
    """A node with what it offers."""
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "reason": "KubeletReady"}]
    obj = {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"unschedulable": True} if unschedulable else {},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }
    return mirrored(on, obj)


def admitted(
    on: Cluster, queue: str, flavor: str, resource: str, units: int, *, finished: bool = False, **fields: object
) -> MirrorObject:
    """A Kueue Workload that holds quota (or has finished) in a ClusterQueue; names are the cluster's own."""
    name = f"job-{next(_numbers)}"
    conditions = [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved"}]
    if finished:
        conditions.append({"type": "Finished", "status": "True", "reason": "Succeeded"})
    podset = {"name": "main", "count": 1, "flavors": {resource: flavor}, "resourceUsage": {resource: str(units)}}
    status = {"conditions": conditions, "admission": {"clusterQueue": queue, "podSetAssignments": [podset]}}
    metadata = {"name": name, "namespace": queue}
    return mirrored(on, {"kind": "Workload", "metadata": metadata, "spec": {}, "status": status}, **fields)


def relist(on: Cluster, gateway: ClusterGateway, *kinds: str) -> None:
    """Fills the mirror with what the cluster has now, as a fresh list of these kinds would."""
    for kind in kinds:
        MirrorObject.objects.filter(cluster=on, kind=kind).delete()
        changed(on, kind)
        for obj in gateway.list(kind).items:
            mirrored(on, {**obj, "kind": kind})
    synced(on, *kinds)
