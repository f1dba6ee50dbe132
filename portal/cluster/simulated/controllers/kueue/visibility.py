"""Kueue's visibility API: what waits, in the order of the next attempts. Positions are 0-based."""

from __future__ import annotations

from portal.cluster.simulated.controllers.kueue.books import Books
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

API_VERSION = "visibility.kueue.x-k8s.io/v1beta2"


def pending_in_cluster_queue(store: Store, books: Books, queue: str) -> Obj | None:
    """A PendingWorkloadsSummary; None when there is no such ClusterQueue."""
    if store.get("ClusterQueue", None, queue) is None:
        return None
    return _summary(_entries(store, books, queue))


def pending_in_local_queue(store: Store, books: Books, namespace: str, name: str) -> Obj | None:
    """A PendingWorkloadsSummary of one LocalQueue, with positions in its ClusterQueue; None when it does not exist."""
    local = store.get("LocalQueue", namespace, name)
    if local is None:
        return None
    entries = _entries(store, books, local["spec"]["clusterQueue"])
    return _summary(
        [one for one in entries if one["metadata"]["namespace"] == namespace and one["localQueueName"] == name]
    )


def _entries(store: Store, books: Books, queue: str) -> list[Obj]:
    entries: list[Obj] = []
    in_local: dict[tuple[str, str], int] = {}
    for key in books.engine.pending_order(queue):
        namespace, _, name = key.partition("/")
        obj = store.get("Workload", namespace, name)
        if obj is None:
            continue
        where = (namespace, obj["spec"].get("queueName") or "")
        position = in_local.get(where, 0)
        in_local[where] = position + 1
        entries.append(_entry(obj, len(entries), position))
    return entries


def _entry(obj: Obj, position: int, local_position: int) -> Obj:
    meta = obj["metadata"]
    owners = [
        {field: ref[field] for field in ("apiVersion", "kind", "name", "uid")}
        for ref in meta.get("ownerReferences") or []
    ]
    return {
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "creationTimestamp": meta["creationTimestamp"],
            "ownerReferences": owners,
        },
        "priority": obj["spec"].get("priority", 0),
        "localQueueName": obj["spec"].get("queueName") or "",
        "positionInClusterQueue": position,
        "positionInLocalQueue": local_position,
    }


def _summary(items: list[Obj]) -> Obj:
    return {"kind": "PendingWorkloadsSummary", "apiVersion": API_VERSION, "metadata": {}, "items": items}
