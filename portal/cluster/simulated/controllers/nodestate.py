"""Small questions about a node, and the marks by which the simulation knows what befell it."""

from __future__ import annotations

import hashlib
from typing import Any

from portal.admission import translation
from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.objects import Obj

STOPPED = "simulated.turno.dev/kubelet"
"""Annotation with the value `stopped`: the node's kubelet does not answer."""
UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def is_stopped(node: Obj) -> bool:
    return bool((node["metadata"].get("annotations") or {}).get(STOPPED) == "stopped")


def is_node_ready(node: Obj) -> bool:
    return conditions.is_true(node.get("status") or {}, "Ready")


def taints(node: Obj) -> list[dict[str, Any]]:
    return list((node.get("spec") or {}).get("taints") or [])


def tolerates(pod: Obj, taint: dict[str, Any]) -> bool:
    return toleration_of(pod, taint) is not None


def toleration_of(pod: Obj, taint: dict[str, Any]) -> dict[str, Any] | None:
    """The first of the pod's tolerations that matches a taint."""
    return next((one for one in pod["spec"].get("tolerations") or [] if translation.tolerates(one, taint)), None)


def address_of(node_name: str) -> str:
    """A node's address, the same after every restart."""
    digest = hashlib.sha256(node_name.encode()).digest()
    return f"10.0.{digest[0]}.{digest[1] % 250 + 2}"
