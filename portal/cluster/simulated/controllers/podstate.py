"""Small questions about a pod."""

from __future__ import annotations

from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.objects import Obj


def phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def is_ended(pod: Obj) -> bool:
    """Whether its containers have ended for good."""
    return phase(pod) in ("Succeeded", "Failed")


def is_going(pod: Obj) -> bool:
    """Whether somebody has asked for its deletion."""
    return "deletionTimestamp" in pod["metadata"]


def is_active(pod: Obj) -> bool:
    return not is_ended(pod) and not is_going(pod)


def is_ready(pod: Obj) -> bool:
    return not is_going(pod) and conditions.is_true(pod.get("status") or {}, "Ready")


def is_gated(pod: Obj) -> bool:
    return bool(pod["spec"].get("schedulingGates"))
