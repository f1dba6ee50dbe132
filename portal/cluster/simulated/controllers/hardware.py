"""The nodes of the simulated cluster: the four-GPU server, a CPU node, and a node whose cards are time-sliced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from portal.cluster.simulated.controllers.nodestate import address_of
from portal.cluster.simulated.objects import Obj
from portal.gpus import CARDS, SHARED_GPU, WHOLE_GPU, Card, is_valid_geometry, mig_resource, mig_strategy_labels

DEMO_GEOMETRY: Mapping[str, int] = {"3g.40gb": 1, "1g.10gb": 4}
_DRIVER, _CUDA = ("580", "95", "05"), ("13", "0")


def demo_nodes() -> list[Obj]:
    """Four H100 cards in one server, the second of them cut by MIG, and a node without GPU."""
    return [gpu_node("gpu-1", card="h100-80", whole=3, mig=DEMO_GEOMETRY), node("cpu-1", cpu="64", memory="256Gi")]


def gpu_node(name: str, *, card: str, whole: int, mig: Mapping[str, int] | None = None, shared: int = 0) -> Obj:
    """A node with `whole` uncut cards, one more card cut into `mig`, or all of them time-sliced `shared` ways.

    Raises ValueError for an unknown card, an impossible geometry, or both kinds of sharing at once.
    """
    model, counts = CARDS.get(card), dict(mig or {})
    if model is None:
        raise ValueError(f"no such card: {card}")
    if counts and shared:
        raise ValueError("a node is either cut by MIG or time-sliced")
    if counts and not is_valid_geometry(model.profiles, counts):
        raise ValueError(f"{card} cannot be cut into {counts}")
    resources: dict[str, str] = {mig_resource(profile): str(count) for profile, count in counts.items()}
    if shared:
        resources[SHARED_GPU] = str(whole * shared)
    else:
        resources[WHOLE_GPU] = str(whole)
    made = node(name, cpu="128", memory="1024Gi", resources=resources)
    made["metadata"]["labels"].update(_gpu_labels(model, whole + bool(counts), counts, shared))
    return made


def node(name: str, *, cpu: str, memory: str, resources: Mapping[str, str] | None = None) -> Obj:
    """A node as its kubelet registers it."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "900Gi", **(resources or {})}
    info: dict[str, Any] = {
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.12.0-simulated",
        "osImage": "Simulated Linux", "containerRuntimeVersion": "simulated://1.0", "kubeletVersion": "v1.36.1",
        "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
    }  # fmt: skip
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
    }
    addresses = [{"type": "InternalIP", "address": address_of(name)}, {"type": "Hostname", "address": name}]
    status = {"capacity": amounts, "allocatable": dict(amounts), "addresses": addresses, "nodeInfo": info}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {}},
        "spec": {},
        "status": status,
    }


def _gpu_labels(card: Card, count: int, mig: Mapping[str, int], shared: int) -> dict[str, str]:
    """What GPU feature discovery and the MIG manager write (`mig.strategy: mixed`, sharing renamed by default)."""
    major, minor = card.compute_capability
    labels = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": card.product,
        "nvidia.com/gpu.family": card.family,
        "nvidia.com/gpu.memory": str(card.memory_mib),
        "nvidia.com/gpu.count": str(count),
        "nvidia.com/gpu.replicas": str(shared or 1),
        "nvidia.com/gpu.sharing-strategy": "time-slicing" if shared else "none",
        "nvidia.com/gpu.compute.major": str(major),
        "nvidia.com/gpu.compute.minor": str(minor),
        "nvidia.com/gpu.machine": "Simulated-Server",
        "nvidia.com/mig.capable": str(card.can_mig).lower(),
        "nvidia.com/mig.strategy": "mixed",
        "nvidia.com/mps.capable": "false",
        "nvidia.com/vgpu.present": "false",
        "nvidia.com/cuda.driver-version.full": ".".join(_DRIVER),
        "nvidia.com/cuda.driver-version.major": _DRIVER[0],
        "nvidia.com/cuda.driver-version.minor": _DRIVER[1],
        "nvidia.com/cuda.driver-version.revision": _DRIVER[2],
        "nvidia.com/cuda.runtime-version.full": ".".join(_CUDA),
        "nvidia.com/cuda.runtime-version.major": _CUDA[0],
        "nvidia.com/cuda.runtime-version.minor": _CUDA[1],
    }
    if card.can_mig:
        labels["nvidia.com/mig.config"] = "four-gpu-server" if mig else "all-disabled"
        labels["nvidia.com/mig.config.state"] = "success"
    labels.update(mig_strategy_labels(card.profiles, mig, card.product))
    return labels
