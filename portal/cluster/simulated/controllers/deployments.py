"""The Deployment controller: one ReplicaSet a template, and the roll from the old to the new one."""

from __future__ import annotations

from datetime import datetime
from math import ceil, floor

from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, Condition
from portal.cluster.simulated.controllers.templates import controller_ref, template_hash
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.store import Change

COMPONENT = "deployment-controller"
HASH = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_KUEUE = "kueue.x-k8s.io/"
_AVAILABLE = ("MinimumReplicasAvailable", "Deployment has minimum availability.")
_UNAVAILABLE = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")


class DeploymentController:
    """Reconciles one Deployment at a time."""

    watches = ("Deployment", "ReplicaSet")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Deployment":
            return [(change.namespace, change.name)]
        refs = change.object["metadata"].get("ownerReferences") or []
        return [(change.namespace, ref["name"]) for ref in refs if ref["kind"] == "Deployment"]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass. Returns when to look again."""
        found = self._world.store.get("Deployment", namespace, name)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return None
        key = template_hash(found["spec"]["template"])
        sets = list(self._world.index.children(found, "ReplicaSet"))
        new = next((one for one in sets if one["metadata"]["labels"].get(HASH) == key), None)
        if new is None:
            new = self._create_set(found, key, sets)
        old = [one for one in sets if one["metadata"]["uid"] != new["metadata"]["uid"]]
        if found["spec"].get("strategy", {}).get("type") == "Recreate":
            self._recreate(found, new, old)
        else:
            self._roll(found, new, old)
        return self._write_status(found, key)

    def _create_set(self, found: Obj, key: str, sets: list[Obj]) -> Obj:
        meta, spec = found["metadata"], found["spec"]
        template = copy(spec["template"])
        labels = template.setdefault("metadata", {}).setdefault("labels", {})
        labels[HASH] = key
        revision = str(max((int(one["metadata"]["annotations"][REVISION]) for one in sets), default=0) + 1)
        created = self._world.store.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": f"{meta['name']}-{key}",
                    "namespace": meta["namespace"],
                    "labels": dict(labels),
                    "annotations": {REVISION: revision},
                    "ownerReferences": [controller_ref(found)],
                },
                "spec": {
                    "replicas": 0,
                    "selector": {"matchLabels": {**spec["selector"]["matchLabels"], HASH: key}},
                    "template": template,
                },
            }
        )

        def note(stored: Obj) -> None:
            stored["metadata"].setdefault("annotations", {})[REVISION] = revision

        self._world.store.mutate("Deployment", meta["namespace"], meta["name"], note)
        return created

    def _recreate(self, found: Obj, new: Obj, old: list[Obj]) -> None:
        for one in old:
            self._scale(found, one, 0)
        if not any(_status(one, "replicas") for one in old):
            self._scale(found, new, _replicas(found))

    def _roll(self, found: Obj, new: Obj, old: list[Obj]) -> None:
        """Up as far as the surge allows, down as far as availability allows."""
        wanted = _replicas(found)
        surge, unavailable = _limits(found, wanted)
        total = _replicas(new) + sum(map(_replicas, old))
        if _replicas(new) > wanted:
            self._scale(found, new, wanted)
        elif _replicas(new) < wanted:
            room = max(wanted + surge - total, 0)
            self._scale(found, new, min(_replicas(new) + room, wanted))
        available = _status(new, "availableReplicas") + sum(_status(one, "availableReplicas") for one in old)
        spare = available - (wanted - unavailable)
        for one in old:
            idle = _replicas(one) - _status(one, "availableReplicas")
            going = min(_replicas(one), idle + max(spare, 0))
            spare -= max(going - idle, 0)
            if going > 0:
                self._scale(found, one, _replicas(one) - going)

    def _scale(self, found: Obj, one: Obj, replicas: int) -> None:
        before = _replicas(one)
        if before == replicas:
            return

        def scale(stored: Obj) -> None:
            stored["spec"]["replicas"] = replicas

        meta = one["metadata"]
        self._world.store.mutate("ReplicaSet", meta["namespace"], meta["name"], scale)
        way = "up" if replicas > before else "down"
        told = f"Scaled {way} replica set {meta['name']} from {before} to {replicas}"
        self._world.event(found, "ScalingReplicaSet", told, component=COMPONENT)

    def _write_status(self, found: Obj, key: str) -> datetime | None:
        sets = list(self._world.index.children(found, "ReplicaSet"))
        new = next(one for one in sets if one["metadata"]["labels"].get(HASH) == key)
        wanted = _replicas(found)
        available = sum(_status(one, "availableReplicas") for one in sets)
        counts = {
            "replicas": sum(_status(one, "replicas") for one in sets),
            "updatedReplicas": _status(new, "replicas"),
            "readyReplicas": sum(_status(one, "readyReplicas") for one in sets),
            "availableReplicas": available,
            "unavailableReplicas": max(wanted - available, 0),
        }
        status: Obj = {"observedGeneration": found["metadata"].get("generation", 1)}
        status.update({field: count for field, count in counts.items() if count})
        status["conditions"] = copy({"c": (found.get("status") or {}).get("conditions") or []})["c"]
        unavailable = _limits(found, wanted)[1]
        enough = available >= wanted - unavailable
        self._say(status, "Available", TRUE if enough else FALSE, *(_AVAILABLE if enough else _UNAVAILABLE))
        again = self._progress(
            found, status, new, done=_status(new, "availableReplicas") >= wanted == counts["replicas"]
        )
        self._world.store_status(found, status)
        return again

    def _progress(self, found: Obj, status: Obj, new: Obj, *, done: bool) -> datetime | None:
        """Progressing, until the deadline; a roll that stands still is counted from its last step."""
        name, uid = new["metadata"]["name"], found["metadata"]["uid"]
        if done:
            self._world.begin(uid, "progress")
            told = f'ReplicaSet "{name}" has successfully progressed.'
            self._say(status, "Progressing", TRUE, "NewReplicaSetAvailable", told)
            return None
        mark = f"{name} {_status(new, 'readyReplicas')} {_status(new, 'replicas')}"
        seconds = float(found["spec"].get("progressDeadlineSeconds", 600))
        due = self._world.due(self._world.moment(uid, f"progress {mark}"), seconds)
        if due <= self._world.now():
            told = f'ReplicaSet "{name}" has timed out progressing.'
            self._say(status, "Progressing", FALSE, "ProgressDeadlineExceeded", told)
            return None
        self._say(status, "Progressing", TRUE, "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
        return due

    def _say(self, status: Obj, kind: str, value: str, reason: str, message: str) -> None:
        at = self._world.stamp()
        before = copy(conditions.find(status, kind) or {})
        if conditions.put(status, Condition(kind, value, reason, message), at):
            told = conditions.find(status, kind)
            if told is not None:
                told["lastUpdateTime"] = before.get("lastUpdateTime", at) if _same(before, told) else at


def _same(before: Obj, now: Obj) -> bool:
    return all(before.get(field) == now.get(field) for field in ("status", "reason", "message"))


def _replicas(obj: Obj) -> int:
    return int(obj["spec"].get("replicas", 1))


def _status(obj: Obj, field: str) -> int:
    return int((obj.get("status") or {}).get(field, 0))


def _limits(found: Obj, wanted: int) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) in pods; when both round to nothing, one may be unavailable."""
    rolling = (found["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    surge, unavailable = rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%")
    up = ceil(_part(surge, wanted))
    down = floor(_part(unavailable, wanted))
    return (up, down) if up or down else (0, 1)


def _part(value: int | str, whole: int) -> float:
    if isinstance(value, str) and value.endswith("%"):
        return whole * float(value[:-1]) / 100
    return float(value)
