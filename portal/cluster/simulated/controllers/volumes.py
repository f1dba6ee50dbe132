"""Volumes: every claim is bound at once, as a default storage class with immediate binding does it."""

from __future__ import annotations

from datetime import datetime

from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change

PROTECTION = "kubernetes.io/pvc-protection"


class VolumeController:
    """Binds claims, and lets a claim go only when no pod uses it."""

    watches = ("PersistentVolumeClaim", "Pod")

    def __init__(self, world: World) -> None:
        self._world = world

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "PersistentVolumeClaim":
            return [(change.namespace, change.name)]
        if change.type != "DELETED":
            return []
        return [(change.namespace, name) for name in _claims(change.object)]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass over one claim."""
        claim = self._world.store.get("PersistentVolumeClaim", namespace, name)
        if claim is None:
            return None
        if "deletionTimestamp" in claim["metadata"]:
            self._let_go(claim)
        elif (claim.get("status") or {}).get("phase") != "Bound":
            self._bind(claim)
        return None

    def _bind(self, claim: Obj) -> None:
        meta, spec = claim["metadata"], claim["spec"]

        def protect(stored: Obj) -> None:
            finalizers = stored["metadata"].setdefault("finalizers", [])
            if PROTECTION not in finalizers:
                finalizers.append(PROTECTION)
            stored["spec"]["volumeName"] = f"pvc-{meta['uid']}"
            stored["spec"].setdefault("storageClassName", "standard")
            stored["spec"].setdefault("volumeMode", "Filesystem")

        status = {
            "phase": "Bound",
            "accessModes": spec.get("accessModes") or [],
            "capacity": dict((spec.get("resources") or {}).get("requests") or {}),
        }
        self._world.store.mutate("PersistentVolumeClaim", meta["namespace"], meta["name"], protect)
        self._world.store_status(claim, status)
        told = f"Successfully provisioned volume pvc-{meta['uid']}"
        self._world.event(claim, "ProvisioningSucceeded", told, component="simulated.turno.dev/provisioner")

    def _let_go(self, claim: Obj) -> None:
        meta = claim["metadata"]
        if any(meta["name"] in _claims(pod) for pod in self._world.store.scan("Pod", meta["namespace"])):
            return

        def free(stored: Obj) -> None:
            kept = [one for one in stored["metadata"].get("finalizers") or [] if one != PROTECTION]
            stored["metadata"]["finalizers"] = kept

        self._world.store.mutate("PersistentVolumeClaim", meta["namespace"], meta["name"], free)


def _claims(pod: Obj) -> list[str]:
    volumes = pod["spec"].get("volumes") or []
    return [volume["persistentVolumeClaim"]["claimName"] for volume in volumes if "persistentVolumeClaim" in volume]
