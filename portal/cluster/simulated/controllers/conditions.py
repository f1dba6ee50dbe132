"""Conditions in the status of objects, written as Kubernetes' own controllers write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portal.cluster.simulated.objects import Obj

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


@dataclass(frozen=True)
class Condition:
    """What a controller says. `extra`: fields that only some kinds have (observedGeneration, lastProbeTime)."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    extra: tuple[tuple[str, Any], ...] = ()

    def as_dict(self, at: str) -> Obj:
        written: Obj = {"type": self.type, "status": self.status, "lastTransitionTime": at, **dict(self.extra)}
        if self.reason:
            written["reason"] = self.reason
        if self.message:
            written["message"] = self.message
        return written


def find(status: Obj, kind: str) -> Obj | None:
    """The condition of this type, or None."""
    return next((one for one in status.get("conditions") or [] if one["type"] == kind), None)


def is_true(status: Obj, kind: str) -> bool:
    found = find(status, kind)
    return found is not None and found["status"] == TRUE


def put(status: Obj, condition: Condition, at: str) -> bool:
    """Write a condition; its transition time moves only with its status. Returns whether anything changed."""
    conditions: list[Obj] = status.setdefault("conditions", [])
    new = condition.as_dict(at)
    old = find(status, condition.type)
    if old is None:
        conditions.append(new)
        return True
    if old["status"] == condition.status:
        for field in ("lastTransitionTime", "lastProbeTime"):
            if field in old:
                new[field] = old[field]
    if new == old:
        return False
    conditions[conditions.index(old)] = new
    return True


def drop(status: Obj, kind: str) -> bool:
    """Take a condition out. Returns whether it was there."""
    kept = [one for one in status.get("conditions") or [] if one["type"] != kind]
    if len(kept) == len(status.get("conditions") or []):
        return False
    status["conditions"] = kept
    return True
