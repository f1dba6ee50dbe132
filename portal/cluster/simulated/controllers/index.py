"""What controllers look up often, kept up to date by the store's changes: children of an owner, pods of a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from portal.admission.quantities import pod_requests
from portal.cluster.simulated.objects import BY_KIND, Key, Obj, key_of
from portal.cluster.simulated.store import Change, Store

_ENDED = ("Succeeded", "Failed")


class Index:
    """Follows one store. Objects it hands out are the stored ones: read only."""

    def __init__(self, store: Store) -> None:
        self._children: dict[str, dict[Key, Obj]] = {}
        self._on_node: dict[str, dict[Key, Mapping[str, int]]] = {}
        self._unscheduled: dict[Key, None] = {}
        for kind in BY_KIND:
            for obj in store.scan(kind):
                self._add(obj)

    def follow(self, change: Change) -> None:
        if change.previous is not None:
            self._discard(change.previous)
        if change.type != "DELETED":
            self._add(change.object)

    def children(self, owner: Obj, kind: str) -> Iterator[Obj]:
        """Objects of a kind that name this owner, in the order of their names."""
        found = self._children.get(owner["metadata"]["uid"], {})
        for key in sorted(key for key in found if key[0] == kind):
            yield found[key]

    def pods_on(self, node: str) -> list[Key]:
        return sorted(self._on_node.get(node, ()))

    def used_on(self, node: str) -> dict[str, int]:
        """What the pods of a node ask for, those that have ended left out; `pods` counts them."""
        used: dict[str, int] = {"pods": 0}
        for requests in self._on_node.get(node, {}).values():
            for resource, amount in requests.items():
                used[resource] = used.get(resource, 0) + amount
        return used

    def unscheduled(self) -> list[Key]:
        """Pods without a node that nothing gates."""
        return sorted(self._unscheduled)

    def _add(self, obj: Obj) -> None:
        key = key_of(obj)
        for ref in obj["metadata"].get("ownerReferences") or []:
            self._children.setdefault(ref["uid"], {})[key] = obj
        if obj["kind"] == "Pod":
            self._add_pod(key, obj)

    def _add_pod(self, key: Key, pod: Obj) -> None:
        spec, ended = pod["spec"], (pod.get("status") or {}).get("phase") in _ENDED
        if spec.get("nodeName"):
            held = {} if ended else {**pod_requests(spec), "pods": 1}
            self._on_node.setdefault(spec["nodeName"], {})[key] = held
        elif not spec.get("schedulingGates") and not ended and "deletionTimestamp" not in pod["metadata"]:
            self._unscheduled[key] = None

    def _discard(self, obj: Obj) -> None:
        key = key_of(obj)
        for ref in obj["metadata"].get("ownerReferences") or []:
            children = self._children.get(ref["uid"], {})
            children.pop(key, None)
            if not children:
                self._children.pop(ref["uid"], None)
        if obj["kind"] == "Pod":
            self._unscheduled.pop(key, None)
            self._on_node.get(obj["spec"].get("nodeName") or "", {}).pop(key, None)
