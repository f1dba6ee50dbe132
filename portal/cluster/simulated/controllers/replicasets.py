"""The ReplicaSet controller: so many equal pods."""

from __future__ import annotations

from datetime import datetime

from portal.cluster.simulated.controllers.birth import RETRY_SECONDS, create_pod
from portal.cluster.simulated.controllers.podstate import is_active, is_gated, is_ready
from portal.cluster.simulated.controllers.templates import pod_from
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change

COMPONENT = "replicaset-controller"


class ReplicaSetController:
    """Reconciles one ReplicaSet at a time."""

    watches = ("ReplicaSet", "Pod")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "ReplicaSet":
            return [(change.namespace, change.name)]
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "ReplicaSet"]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        found = self._world.store.get("ReplicaSet", namespace, name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return None
        active = [pod for pod in self._world.index.children(found, "Pod") if is_active(pod)]
        wanted, again = int(found["spec"].get("replicas", 1)), None
        for _ in range(wanted - len(active)):
            pod = pod_from(found["spec"]["template"], found, prefix=f"{name}-")
            created = create_pod(self._world, found, pod, COMPONENT)
            if created is None:
                again = self._world.due(self._world.now(), RETRY_SECONDS)
                break
            active.append(created)
        for pod in sorted(active, key=_worth)[: max(len(active) - wanted, 0)]:
            self._delete(found, pod)
            active.remove(pod)
        self._write_status(found, active)
        return again

    def _delete(self, found: Obj, pod: Obj) -> None:
        meta = pod["metadata"]
        self._world.store.delete("Pod", meta["namespace"], meta["name"], uid=meta["uid"])
        self._world.event(found, "SuccessfulDelete", f"Deleted pod: {meta['name']}", component=COMPONENT)

    def _write_status(self, found: Obj, active: list[Obj]) -> None:
        ready = sum(map(is_ready, active))
        status: Obj = {"replicas": len(active), "observedGeneration": found["metadata"].get("generation", 1)}
        if active:
            status["fullyLabeledReplicas"] = len(active)
        if ready:
            status.update(readyReplicas=ready, availableReplicas=ready)
        self._world.store_status(found, status)


def _worth(pod: Obj) -> tuple[bool, bool, bool, str]:
    """Which pod goes first: one that waits for quota, then without node, then not ready."""
    placed = bool(pod["spec"].get("nodeName"))
    return not is_gated(pod), placed, is_ready(pod), pod["metadata"]["name"]
