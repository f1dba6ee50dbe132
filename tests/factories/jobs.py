"""Requests for workloads, as a client would send them, and workloads made from them."""

from __future__ import annotations

from typing import Any

from jobs import services
from jobs.models import Workload
from portal.cluster.models import Cluster
from portal.kernel.actors import Actor

AUTH_FILTER = {"group": "gateway.example.io", "kind": "ExtAuth", "name": "turno"}
COMMON: dict[str, Any] = {"tenant": "data", "flavor": "h100-1g", "gpus": 1, "cpu": "2", "memory": "8Gi"}
REQUESTS: dict[str, dict[str, Any]] = {
    "notebook": {"name": "lab", **COMMON, "image": "jupyterlab", "ide": "jupyterlab", "storage": "10Gi"},
    "training": {"name": "train", **COMMON, "image": "pytorch", "command": ["python", "train.py"]},
    "endpoint": {"name": "chat", **COMMON, "image": "vllm", "model": "Qwen/Qwen3-0.6B"},
}


def request(kind: str = "training", **changes: Any) -> dict[str, Any]:
    """A body that the team `data` in the lab may send; None takes a field away."""
    body = {**REQUESTS[kind], **changes}
    return {name: value for name, value in body.items() if value is not None}


def submitted(actor: Actor, kind: str = "training", **changes: Any) -> Workload:
    """A workload that was just accepted."""
    return services.submit(actor, kind=kind, data=request(kind, **changes))


def with_gateway(cluster: Cluster) -> Cluster:
    """The cluster's gateway checks who opens a notebook, so that notebooks are offered."""
    cluster.auth_filter = dict(AUTH_FILTER)
    cluster.save(update_fields=["auth_filter"])
    return cluster
