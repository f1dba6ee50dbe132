"""Who owns whom: the index behind the garbage collection of dependents."""

from __future__ import annotations

from portal.cluster.simulated.objects import Key, Obj, copy, key_of


class Owners:
    """Owner uid -> keys of the objects that name it in metadata.ownerReferences."""

    def __init__(self) -> None:
        self._dependents: dict[str, dict[Key, None]] = {}

    def add(self, obj: Obj) -> None:
        for ref in obj["metadata"].get("ownerReferences") or []:
            self._dependents.setdefault(ref["uid"], {})[key_of(obj)] = None

    def discard(self, obj: Obj) -> None:
        for ref in obj["metadata"].get("ownerReferences") or []:
            keys = self._dependents.get(ref["uid"], {})
            keys.pop(key_of(obj), None)
            if not keys:
                self._dependents.pop(ref["uid"], None)

    def of(self, owner: Obj) -> list[Key]:
        return list(self._dependents.get(owner["metadata"]["uid"], ()))


def without_owner(obj: Obj, uid: str) -> Obj:
    """A copy that no longer names this owner."""
    freed = copy(obj)
    kept = [ref for ref in freed["metadata"].get("ownerReferences") or [] if ref["uid"] != uid]
    if kept:
        freed["metadata"]["ownerReferences"] = kept
    else:
        freed["metadata"].pop("ownerReferences", None)
    return freed
