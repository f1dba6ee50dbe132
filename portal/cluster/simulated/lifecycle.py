"""Small rules of an object's life: what counts as a change of what is wanted, and what holds one being deleted."""

from __future__ import annotations

from portal.cluster.simulated.objects import Obj

_DEFAULT_GRACE_SECONDS = 30


def nothing_holds(obj: Obj) -> bool:
    """Being deleted, with neither a finalizer nor a grace period left."""
    meta = obj["metadata"]
    return "deletionTimestamp" in meta and not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds")


def desired(obj: Obj) -> Obj:
    """What `generation` counts changes of."""
    return {field: value for field, value in obj.items() if field not in ("metadata", "status")}


def grace(obj: Obj, asked: int | None) -> int:
    """Seconds a deletion waits: only pods that run somewhere and have not ended get any."""
    spec = obj.get("spec") or {}
    ended = (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if obj["kind"] != "Pod" or ended or not spec.get("nodeName"):
        return 0
    if asked is not None:
        return max(asked, 0)
    return int(spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_SECONDS))
