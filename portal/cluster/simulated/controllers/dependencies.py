"""What a pod needs before its containers can be created: Secrets, ConfigMaps and volumes that must exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store


@dataclass(frozen=True)
class Missing:
    """Why the containers wait (`waiting`, `message`) and what the event says (`event`, `told`)."""

    waiting: str
    message: str
    event: str
    told: str


def missing(pod: Obj, store: Store) -> Missing | None:
    """The first thing a pod lacks, or None."""
    namespace = pod["metadata"]["namespace"]
    for volume, kind, name in _mounted(pod):
        if store.get(kind, namespace, name) is None:
            text = f'MountVolume.SetUp failed for volume "{volume}" : {kind.lower()} "{name}" not found'
            return Missing("ContainerCreating", "", "FailedMount", text)
    for kind, name, key in _named(pod):
        found = store.get(kind, namespace, name)
        if found is None:
            text = f'{kind.lower()} "{name}" not found'
        elif key and not _has(found, key):
            text = f"couldn't find key {key} in {kind} {namespace}/{name}"
        else:
            continue
        return Missing("CreateContainerConfigError", text, "Failed", f"Error: {text}")
    return None


def unbound_claim(pod: Obj, store: Store) -> str | None:
    """Why the scheduler cannot place the pod because of its volumes, or None."""
    for volume in pod["spec"].get("volumes") or []:
        claim = volume.get("persistentVolumeClaim")
        if claim is None:
            continue
        found = store.get("PersistentVolumeClaim", pod["metadata"]["namespace"], claim["claimName"])
        if found is None:
            return f'persistentvolumeclaim "{claim["claimName"]}" not found'
        if "deletionTimestamp" in found["metadata"]:
            return f'persistentvolumeclaim "{claim["claimName"]}" is being deleted'
        if (found.get("status") or {}).get("phase") != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return None


def _mounted(pod: Obj) -> Iterator[tuple[str, str, str]]:
    """(volume, kind, name) of the Secrets and ConfigMaps that are mounted and not optional."""
    for volume in pod["spec"].get("volumes") or []:
        secret, config = volume.get("secret") or {}, volume.get("configMap") or {}
        if secret.get("secretName") and not secret.get("optional"):
            yield volume["name"], "Secret", secret["secretName"]
        if config.get("name") and not config.get("optional"):
            yield volume["name"], "ConfigMap", config["name"]


def _named(pod: Obj) -> Iterator[tuple[str, str, str]]:
    """(kind, name, key or "") that the containers' environment is taken from."""
    for container in pod["spec"].get("containers") or []:
        for source in container.get("envFrom") or []:
            for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                if field in source and not source[field].get("optional"):
                    yield kind, source[field]["name"], ""
        for variable in container.get("env") or []:
            source = variable.get("valueFrom") or {}
            for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                if field in source and not source[field].get("optional"):
                    yield kind, source[field]["name"], source[field]["key"]


def _has(obj: Obj, key: str) -> bool:
    return key in (obj.get("data") or {}) or key in (obj.get("stringData") or {})
