"""The pod that every variant has: the `restricted` standard, requests = limits, nothing expanded, no token mounted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.manifests.plan import JsonObject, RunPlan

MAIN = "main"
SERVICE_ACCOUNT = "workload"  # of every team's namespace: without any right
SHARED_MEMORY = "/dev/shm"  # noqa: S108  a mount inside the container
DEVICES = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
NO_GPU = {"NVIDIA_VISIBLE_DEVICES": "void"}


@dataclass(frozen=True)
class Main:
    """The container of a variant. `env`: the platform's own literal values, `sources`: those from elsewhere."""

    command: Sequence[str] = ()
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[JsonObject] = ()
    ports: Sequence[JsonObject] = ()
    probes: Mapping[str, JsonObject] = field(default_factory=dict)
    mounts: Sequence[JsonObject] = ()
    volumes: Sequence[JsonObject] = ()
    shared_memory: bool = True


def literal(text: str) -> str:
    """`$` doubled: Kubernetes expands `$(NAME)` in commands, arguments and values, and turns `$$` back into `$`."""
    return text.replace("$", "$$")


def template(plan: RunPlan, main: Main, **pod: Any) -> JsonObject:
    """The pod template: `pod` adds fields of the pod's spec (restartPolicy, subdomain, ...)."""
    volumes, mounts = _scratch(plan, main)
    spec: JsonObject = {
        "serviceAccountName": SERVICE_ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": plan.image.uid,
            "runAsGroup": plan.image.gid,
            "fsGroup": plan.image.gid,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan, main, mounts)],
        **pod,
    }
    if plan.flavor.node_labels:
        spec["nodeSelector"] = dict(plan.flavor.node_labels)
    if volumes:
        spec["volumes"] = volumes
    return {"metadata": {"labels": plan.run_labels}, "spec": spec}


def _container(plan: RunPlan, main: Main, mounts: list[JsonObject]) -> JsonObject:
    amounts = resources(plan)
    container: JsonObject = {
        "name": MAIN,
        "image": plan.image.reference,
        "env": environment(plan, main),
        "resources": {"requests": amounts, "limits": dict(amounts)},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        **main.probes,
    }
    optional: JsonObject = {
        "command": [literal(word) for word in main.command],
        "args": [literal(word) for word in main.args],
        "ports": list(main.ports),
        "volumeMounts": mounts,
    }
    return container | {name: value for name, value in optional.items() if value}


def resources(plan: RunPlan) -> dict[str, str]:
    """CPU, memory and GPU of one pod, as typed."""
    amounts = {"cpu": plan.spec.cpu, "memory": plan.spec.memory}
    if plan.spec.gpus:
        amounts[plan.flavor.resource] = str(plan.spec.gpus)
    return amounts


def environment(plan: RunPlan, main: Main) -> list[JsonObject]:
    """The image's, then the tenant's, then the platform's, which nobody overrides.

    No row chooses devices: the device plugin does, and a pod without GPU is shown none.
    """
    image = {name: value for name, value in plan.image.env.items() if name not in DEVICES}
    values = {"HOME": plan.image.home, **image, **plan.spec.env, **main.env}
    if not plan.spec.gpus:
        values |= NO_GPU
    return [{"name": name, "value": literal(value)} for name, value in values.items()] + list(main.sources)


def _scratch(plan: RunPlan, main: Main) -> tuple[list[JsonObject], list[JsonObject]]:
    """The variant's volumes, memory-backed /dev/shm, and an empty folder at each path that the image writes to."""
    volumes, mounts = list(main.volumes), list(main.mounts)
    taken = {mount["mountPath"] for mount in mounts}
    if main.shared_memory:
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory"}})
        mounts.append({"name": "shm", "mountPath": SHARED_MEMORY})
        taken.add(SHARED_MEMORY)
    for number, path in enumerate(path for path in plan.image.writable_paths if path not in taken):
        volumes.append({"name": f"scratch-{number}", "emptyDir": {}})
        mounts.append({"name": f"scratch-{number}", "mountPath": path})
    return volumes, mounts


def from_secret(variable: str, secret: str, entry: str) -> JsonObject:
    """A variable whose value the cluster takes from a Secret."""
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": entry}}}


def from_annotation(variable: str, annotation: str) -> JsonObject:
    """A variable whose value is an annotation of the pod."""
    return {
        "name": variable,
        "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotation}']"}},
    }
