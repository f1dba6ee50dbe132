"""Kueue's visibility API: what waits, in the order of the next attempts. Positions are 0-based."""

from __future__ import annotations

from collections.abc import Callable

from portal.cluster.simulated.controllers.kueue.books import Books
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.exchange import Response, refusal
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store

API_VERSION = "visibility.kueue.x-k8s.io/v1beta2"
_GROUP = "visibility.kueue.x-k8s.io"
_UNREACHABLE = "error trying to reach service: dial tcp 127.0.0.1:18082: connect: connection refused\n"


def visibility(store: Store, books: Books, runs: Callable[[], bool]) -> Callable[[str], Response]:
    """The function that answers a path below the API's version. runs: whether Kueue's manager answers now."""

    def answer(path: str) -> Response:
        if not runs():
            return Response(503, text=_UNREACHABLE)
        parts = path.strip("/").split("/")
        if len(parts) == 3 and parts[0] == "clusterqueues" and parts[2] == "pendingworkloads":
            return _found(pending_in_cluster_queue(store, books, parts[1]), "clusterqueue", parts[1])
        if len(parts) == 5 and (parts[0], parts[2], parts[4]) == ("namespaces", "localqueues", "pendingworkloads"):
            return _found(pending_in_local_queue(store, books, parts[1], parts[3]), "localqueue", parts[3])
        return Response(404, text="404 page not found\n")

    return answer


def _found(summary: Obj | None, kind: str, name: str) -> Response:
    if summary is not None:
        return Response(200, summary)
    details: Obj = {"name": name, "group": _GROUP, "kind": kind}
    return refusal(ApiError(404, "NotFound", f'{kind}.{_GROUP} "{name}" not found', details))


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
