"""The simulated cluster's objects: what etcd and the registry of a real API server keep, and how writes change them.

Single-threaded and synchronous: everything runs in one asyncio loop, so nothing here locks or waits. An object in the
store is never changed in place: each write puts a new dict. `get` and `list` hand out copies; `scan` hands out the
stored dicts themselves and is for readers that promise not to touch them.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from portal.cluster.simulated.errors import AlreadyExists, Expired, NotFound
from portal.cluster.simulated.garbage import Owners, without_owner
from portal.cluster.simulated.journal import Journal
from portal.cluster.simulated.lifecycle import desired, grace, nothing_holds
from portal.cluster.simulated.names import generate_name
from portal.cluster.simulated.objects import BY_KIND, Key, Obj, copy, key_of, timestamp
from portal.cluster.simulated.preconditions import check_preconditions, check_version
from portal.kernel import clock as wall

Objects = list[Obj]
Changes = list["Change"]
Keys = list[Key]
FOREGROUND, ORPHAN, BACKGROUND = "Foreground", "Orphan", "Background"
_FOREGROUND_FINALIZER = "foregroundDeletion"
_KEPT_METADATA = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")


@dataclass(frozen=True)
class Change:
    """One write, as watchers see it. `previous` is the object before it, None for ADDED; for DELETED, `object` is the
    last state with the resourceVersion of the removal. Both are the stored dicts: read only."""

    rv: int
    type: str
    kind: str
    namespace: str
    name: str
    object: Obj
    previous: Obj | None


class Store:
    """All objects of the cluster.

    path: the append-only file; None keeps everything in memory. A restart keeps objects, and resourceVersion goes on;
    the history of changes starts anew, so that a watch from before is told 410, as by a real server.
    clock: the time that goes into creationTimestamp and deletionTimestamp.
    history: how many changes are kept for watches, over all kinds.
    Raises OSError or ValueError for an unreadable file.
    """

    def __init__(
        self, path: Path | None = None, *, clock: Callable[[], datetime] = wall.now, history: int = 50_000
    ) -> None:
        self._clock = clock
        self._by_kind: dict[str, dict[tuple[str, str], Obj]] = {kind: {} for kind in BY_KIND}
        self._history: dict[str, deque[Change]] = {kind: deque() for kind in BY_KIND}
        self._order: deque[str] = deque()
        self._history_limit = history
        self._owners = Owners()
        self._emptying: set[str] = set()
        self._subscribers: list[Callable[[Change], None]] = []
        self._journal = Journal(path) if path is not None else None
        self.rv = 0
        if self._journal is not None:
            self._load(self._journal)
        self._oldest = dict.fromkeys(BY_KIND, self.rv)

    def _load(self, journal: Journal) -> None:
        self.rv, objects = journal.load()
        for (kind, namespace, name), obj in objects.items():
            if kind in self._by_kind:
                self._by_kind[kind][namespace, name] = obj
                self._owners.add(obj)
        journal.compact(self.rv, self._all())

    def close(self) -> None:
        """Close the file. The store is not usable afterwards."""
        if self._journal is not None:
            self._journal.close()

    # Reading

    def get(self, kind: str, namespace: str | None, name: str) -> Obj | None:
        """A copy, or None."""
        found = self._find(kind, namespace, name)
        return None if found is None else copy(found)

    def list(self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> Objects:
        """Copies, ordered by namespace and name. labels: equality only."""
        return [copy(obj) for obj in self.scan(kind, namespace, labels)]

    def scan(self, kind: str, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> Iterator[Obj]:
        """As `list`, without copying: the caller must not change what it gets."""
        wanted = (labels or {}).items()
        for (in_namespace, _), obj in sorted(self._by_kind[kind].items()):
            if namespace is not None and in_namespace != namespace:
                continue
            if not wanted or wanted <= (obj["metadata"].get("labels") or {}).items():
                yield obj

    def count(self, kind: str) -> int:
        return len(self._by_kind[kind])

    def events_since(self, kind: str, rv: int) -> Changes:
        """Changes of a kind after a resourceVersion, oldest first. Raises Expired when they are no longer all held."""
        if rv < self._oldest[kind]:
            raise Expired(f"too old resource version: {rv} ({self._oldest[kind]})")
        return [change for change in self._history[kind] if change.rv > rv]

    def snapshot(self, kind: str, rv: int) -> Objects:
        """The stored objects of a kind (read only) as they were at a resourceVersion, in order. Raises Expired."""
        then = dict(self._by_kind[kind])
        for change in reversed(self.events_since(kind, rv)):
            where = change.namespace, change.name
            if change.previous is None:
                then.pop(where, None)
            else:
                then[where] = change.previous
        return [obj for _, obj in sorted(then.items())]

    def forget_history(self) -> None:
        """Drop the history of changes, as etcd's compaction does: every watch from before now is too old."""
        for changes in self._history.values():
            changes.clear()
        self._order.clear()
        self._oldest = dict.fromkeys(BY_KIND, self.rv)

    def subscribe(self, callback: Callable[[Change], None]) -> Callable[[], None]:
        """Call back after every change, within the write. Returns the function that ends it."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    @property
    def subscribers(self) -> int:
        """How many follow the changes."""
        return len(self._subscribers)

    # Writing

    def create(self, obj: Obj, *, uid: str | None = None) -> Obj:
        """Store a new object; returns a copy with uid (a new one, unless given), resourceVersion, creationTimestamp,
        generation and a generated name. Raises AlreadyExists."""
        new = self.prepare(obj)
        new["metadata"]["uid"] = uid or new["metadata"]["uid"]
        if self._find(*key_of(new)) is not None:
            raise AlreadyExists(BY_KIND[new["kind"]], new["metadata"]["name"])
        return copy(self._put("ADDED", new, None))

    def prepare(self, obj: Obj) -> Obj:
        """The object as `create` would store it, without a resourceVersion (also the answer to a dry run)."""
        resource = BY_KIND[obj["kind"]]
        new = copy(obj)
        meta = new["metadata"]
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = generate_name(meta["generateName"])
        for field in (*_KEPT_METADATA, "resourceVersion", "selfLink"):
            meta.pop(field, None)
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = timestamp(self._clock())
        if resource.generation:
            meta["generation"] = 1
        if not resource.namespaced:
            meta.pop("namespace", None)
        return new

    def update(self, obj: Obj, *, status: bool = False) -> Obj:
        """Replace an object, or only its status. With metadata.resourceVersion a compare-and-set (raises Conflict).
        A write that changes nothing moves nothing. An object being deleted goes away when its last finalizer does.
        Raises NotFound; Invalid for another uid. Returns a copy."""
        resource = BY_KIND[obj["kind"]]
        current = self._find(*key_of(obj))
        if current is None:
            raise NotFound(resource, obj["metadata"]["name"])
        new = self.merged(current, obj, status=status)
        if new == current:
            return copy(current)
        if nothing_holds(new):
            return copy(self._drop(new))
        stored = self._put("MODIFIED", new, current)
        return copy(stored)

    def merged(self, current: Obj, obj: Obj, *, status: bool) -> Obj:
        """What an update would store, before its resourceVersion moves (also the answer to a dry run)."""
        resource = BY_KIND[obj["kind"]]
        meta, old = obj["metadata"], current["metadata"]
        check_version(resource, meta, old)
        if status:
            new = copy(current)
            new.pop("status", None)
            if "status" in obj:
                new["status"] = copy({"status": obj["status"]})["status"]
            if "managedFields" in meta:
                new["metadata"]["managedFields"] = meta["managedFields"]
            return new
        new = copy(obj)
        new_meta = new["metadata"]
        for field in (*_KEPT_METADATA, "resourceVersion"):
            new_meta.pop(field, None)
            if field in old:
                new_meta[field] = old[field]
        if resource.status:
            new.pop("status", None)
            if "status" in current:
                new["status"] = current["status"]
        if resource.generation and desired(new) != desired(current):
            new_meta["generation"] = old.get("generation", 0) + 1
        return new

    def mutate(
        self, kind: str, namespace: str | None, name: str, fn: Callable[[Obj], None], *, status: bool = False
    ) -> Obj | None:
        """Read, let `fn` change the copy, write. None when there is no such object."""
        obj = self.get(kind, namespace, name)
        if obj is None:
            return None
        fn(obj)
        return self.update(obj, status=status)

    def delete(
        self,
        kind: str,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = BACKGROUND,
        grace_seconds: int | None = None,
    ) -> Obj | None:
        """Begin to delete. None when missing; the last state when it is gone at once; otherwise the object with its
        deletionTimestamp: finalizers hold it, or it is a pod that still runs (its kubelet calls `remove`), or a
        namespace with something in it. Raises PreconditionFailed."""
        current = self._find(kind, namespace, name)
        if current is None:
            return None
        check_preconditions(current, uid, resource_version)
        doomed = copy(current)
        finalizers = list(doomed["metadata"].get("finalizers") or [])
        if propagation == ORPHAN:
            self._orphan(current)
        elif propagation == FOREGROUND and self._owners.of(current) and _FOREGROUND_FINALIZER not in finalizers:
            doomed["metadata"]["finalizers"] = [*finalizers, _FOREGROUND_FINALIZER]
        self._mark(doomed, grace_seconds)
        if nothing_holds(doomed) and (kind != "Namespace" or not self._contents(name)):
            return copy(self._drop(copy(current)))
        stored = current if doomed == current else self._put("MODIFIED", doomed, current)
        if kind == "Namespace":
            self._collect_namespace(name)
        elif propagation == FOREGROUND:
            self._delete_dependents(stored)
        return copy(self._find(kind, namespace, name) or stored)

    def remove(self, kind: str, namespace: str | None, name: str, *, uid: str | None = None) -> Obj | None:
        """End a graceful deletion at once, as a delete with grace 0 does: gone, unless finalizers hold it.
        None when missing or when the object has another uid."""
        current = self._find(kind, namespace, name)
        if current is None or (uid is not None and current["metadata"]["uid"] != uid):
            return None
        return self.delete(kind, namespace, name, grace_seconds=0)

    # Inside

    def _find(self, kind: str, namespace: str | None, name: str) -> Obj | None:
        return self._by_kind[kind].get((namespace or "", name))

    def _all(self) -> Iterator[Obj]:
        for objects in self._by_kind.values():
            yield from objects.values()

    def _put(self, change: str, obj: Obj, previous: Obj | None) -> Obj:
        kind, namespace, name = key_of(obj)
        self.rv += 1
        obj["metadata"]["resourceVersion"] = str(self.rv)
        self._by_kind[kind][namespace, name] = obj
        if previous is not None:
            self._owners.discard(previous)
        self._owners.add(obj)
        if self._journal is not None:
            self._journal.put(self.rv, obj)
        self._tell(Change(self.rv, change, kind, namespace, name, obj, previous))
        return obj

    def _tell(self, change: Change) -> None:
        self._history[change.kind].append(change)
        self._order.append(change.kind)
        if len(self._order) > self._history_limit:
            kind = self._order.popleft()
            self._oldest[kind] = self._history[kind].popleft().rv
        if self._journal is not None and self._journal.appended > 100_000:
            self._journal.compact(self.rv, self._all())
        for subscriber in tuple(self._subscribers):
            subscriber(change)

    def _mark(self, obj: Obj, grace_seconds: int | None) -> None:
        """Write the deletionTimestamp, which only ever moves nearer."""
        meta, seconds = obj["metadata"], grace(obj, grace_seconds)
        if obj["kind"] == "Namespace":
            obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        if "deletionTimestamp" in meta:
            if seconds < (meta.get("deletionGracePeriodSeconds") or 0):
                meta["deletionGracePeriodSeconds"] = seconds
            return
        meta["deletionTimestamp"] = timestamp(self._clock() + timedelta(seconds=seconds))
        meta["deletionGracePeriodSeconds"] = seconds
        if BY_KIND[obj["kind"]].generation:
            meta["generation"] = meta.get("generation", 0) + 1
        if obj["kind"] == "Namespace":
            del meta["deletionGracePeriodSeconds"]

    def _drop(self, last: Obj) -> Obj:
        """Take an object out, and what goes with it. `last` is its last state, which is also returned: watchers see
        it with the resourceVersion of the removal."""
        kind, namespace, name = key_of(last)
        previous = self._by_kind[kind].pop((namespace, name))
        self._owners.discard(previous)
        self.rv += 1
        shown = copy(last)
        shown["metadata"]["resourceVersion"] = str(self.rv)
        if self._journal is not None:
            self._journal.gone(self.rv, (kind, namespace, name))
        self._tell(Change(self.rv, "DELETED", kind, namespace, name, shown, previous))
        self._delete_dependents(last)
        self._release_owners(last)
        self._collect_namespace(namespace)
        return last

    def _delete_dependents(self, owner: Obj) -> None:
        """Garbage collection: dependents whose last owner is gone, or being deleted in the foreground, go too."""
        gone = owner["metadata"]["uid"]
        for key in self._owners.of(owner):
            dependent = self._find(*key)
            if dependent is None:
                continue
            others = [ref for ref in dependent["metadata"].get("ownerReferences") or [] if ref["uid"] != gone]
            if any(self._exists(key[1], ref) for ref in others):
                self.update(without_owner(dependent, gone))
            elif "deletionTimestamp" not in dependent["metadata"]:
                self.delete(*key)

    def _release_owners(self, gone: Obj) -> None:
        """An owner that is deleted in the foreground goes when its last dependent has gone."""
        for ref in gone["metadata"].get("ownerReferences") or []:
            owner = self._by_kind.get(ref["kind"], {}).get((gone["metadata"].get("namespace") or "", ref["name"]))
            if owner is None or _FOREGROUND_FINALIZER not in (owner["metadata"].get("finalizers") or []):
                continue
            if not self._owners.of(owner):
                freed = copy(owner)
                freed["metadata"]["finalizers"].remove(_FOREGROUND_FINALIZER)
                self.update(freed)

    def _orphan(self, owner: Obj) -> None:
        for key in self._owners.of(owner):
            dependent = self._find(*key)
            if dependent is not None:
                self.update(without_owner(dependent, owner["metadata"]["uid"]))

    def _exists(self, namespace: str, ref: Obj) -> bool:
        objects = self._by_kind.get(ref["kind"], {})
        owner = objects.get((namespace, ref["name"])) or objects.get(("", ref["name"]))
        return owner is not None and owner["metadata"]["uid"] == ref["uid"]

    def _contents(self, namespace: str) -> Keys:
        return [
            (kind, namespace, name)
            for kind, objects in self._by_kind.items()
            for (in_namespace, name) in objects
            if in_namespace == namespace
        ]

    def _collect_namespace(self, name: str) -> None:
        """Delete what is in a namespace that is being deleted, and with the last of it the namespace. Called again for
        each object that goes, since controllers may have put others there meanwhile."""
        namespace = self._find("Namespace", None, name) if name else None
        if namespace is None or "deletionTimestamp" not in namespace["metadata"] or name in self._emptying:
            return
        self._emptying.add(name)
        for key in self._contents(name):
            self.delete(*key)
        self._emptying.discard(name)
        if nothing_holds(namespace) and not self._contents(name):
            self._drop(namespace)
