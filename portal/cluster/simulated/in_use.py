"""Kueue's finalizers on queues and flavors: a queue stays while a workload holds its quota, a flavor while a queue
names it."""

from __future__ import annotations

from collections.abc import Iterator

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.webhooks import IN_USE_FINALIZER


def release_finalizers(store: Store) -> None:
    """Let go of those that are being deleted and that nothing uses any more."""
    for kind, used in (("ClusterQueue", _held_queues), ("ResourceFlavor", _named_flavors)):
        going = [obj["metadata"]["name"] for obj in store.scan(kind) if "deletionTimestamp" in obj["metadata"]]
        in_use = set(used(store)) if going else set()
        for name in going:
            if name not in in_use:
                store.mutate(kind, None, name, _release)


def _release(obj: Obj) -> None:
    meta = obj["metadata"]
    meta["finalizers"] = [each for each in meta.get("finalizers") or [] if each != IN_USE_FINALIZER]


def _held_queues(store: Store) -> Iterator[str]:
    for workload in store.scan("Workload"):
        status = workload.get("status") or {}
        ended = any(one["type"] == "Finished" and one["status"] == "True" for one in status.get("conditions") or [])
        if status.get("admission") and not ended:
            yield status["admission"]["clusterQueue"]


def _named_flavors(store: Store) -> Iterator[str]:
    for queue in (*store.scan("ClusterQueue"), *store.scan("Cohort")):
        for group in (queue.get("spec") or {}).get("resourceGroups") or []:
            for flavor in group.get("flavors") or []:
                yield flavor["name"]
