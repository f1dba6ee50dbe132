"""Every write of the API: decode is done, storing is the store's; here defaults, ownership, webhooks and checks come
between, in the order of a real API server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from portal.cluster.simulated import apply as server_side
from portal.cluster.simulated import defaults, validation
from portal.cluster.simulated.apply import Manager
from portal.cluster.simulated.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Cause,
    Forbidden,
    Invalid,
    NamespaceGoing,
    NotFound,
)
from portal.cluster.simulated.namespaces import furnish
from portal.cluster.simulated.objects import BY_KIND, Obj, Resource, copy, timestamp
from portal.cluster.simulated.preconditions import check_preconditions, check_version
from portal.cluster.simulated.store import Store
from portal.cluster.simulated.validation import compact
from portal.cluster.simulated.webhooks import Webhooks


@dataclass(frozen=True)
class Place:
    """What a request is about: resource, namespace (None for cluster-wide kinds), name ("" for a create), subresource
    ("" or "status")."""

    resource: Resource
    namespace: str | None
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True)
class Options:
    """manager: who comes to own the fields. dry_run: answer as if, store nothing. force: take conflicting fields."""

    manager: str
    dry_run: bool = False
    force: bool = False


@dataclass(frozen=True)
class Deletion:
    """What a DELETE asks for (metav1.DeleteOptions)."""

    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    grace_seconds: int | None = None
    dry_run: bool = False


class Writes:
    """All raise ApiError, and return the object as the API answers it."""

    def __init__(self, store: Store, webhooks: Webhooks, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._webhooks = webhooks
        self._clock = clock

    def create(self, place: Place, obj: Obj, options: Options) -> Obj:
        """POST to a collection."""
        meta = obj["metadata"]
        meta.pop("managedFields", None)
        if meta.pop("resourceVersion", None):
            raise BadRequest("resourceVersion should not be set on objects to be created")
        _check_namespace_of(meta, place)
        new = self._new(place, obj)
        bare = {"apiVersion": new["apiVersion"], "kind": new["kind"], "metadata": {}}
        server_side.own_update(bare, new, self._manager(place, options, "Update"), self._now())
        return self._admit_new(new, options)

    def replace(self, place: Place, obj: Obj, options: Options) -> Obj:
        """PUT."""
        current = self._current(place)
        meta = obj["metadata"]
        _check_namespace_of(meta, place)
        if meta.get("name", place.name) != place.name:
            text = f"the name of the object ({meta['name']}) does not match the name on the URL ({place.name})"
            raise BadRequest(text)
        meta["name"] = place.name
        if place.resource.custom and not meta.get("resourceVersion"):
            fault = Cause(
                "FieldValueInvalid", "Invalid value: 0: must be specified for an update", "metadata.resourceVersion"
            )
            raise Invalid(place.resource, place.name, [fault])
        return self._change(current, obj, place, options)

    def patch(self, place: Place, change: Callable[[Obj], Obj], options: Options) -> Obj:
        """PATCH with a plain patch: `change` is the patch as a function."""
        current = self._current(place)
        patched = change(copy(current))
        if not isinstance(patched.get("metadata"), dict) or patched["metadata"].get("name") != place.name:
            raise BadRequest("the name of the object does not match the name on the URL")
        patched |= {"kind": current["kind"], "apiVersion": current["apiVersion"]}
        return self._change(current, patched, place, options)

    def apply(self, place: Place, config: Obj, options: Options) -> tuple[Obj, bool]:
        """PATCH with an apply. Returns (object, whether it is new)."""
        meta = config["metadata"]
        if meta.get("managedFields"):
            raise BadRequest("metadata.managedFields must be nil")
        _check_namespace_of(meta, place)
        if meta.setdefault("name", place.name) != place.name:
            text = f"the name of the object ({meta['name']}) does not match the name on the URL ({place.name})"
            raise BadRequest(text)
        manager = self._manager(place, options, "Apply")
        live = self._store.get(place.resource.kind, place.namespace, place.name)
        if live is None:
            if place.subresource:
                raise NotFound(place.resource, place.name)
            merged = server_side.apply(None, config, manager, self._now())
            owners = merged["metadata"].pop("managedFields", [])
            new = self._new(place, merged)
            if owners:
                new["metadata"]["managedFields"] = owners
            return self._admit_new(new, options), True
        check_version(place.resource, meta, live["metadata"])
        merged = server_side.apply(live, config, manager, self._now(), force=options.force)
        return self._settle(live, merged, place, options), False

    def delete(self, place: Place, deletion: Deletion) -> tuple[Obj, bool]:
        """DELETE of one object. Returns (its last or present state, whether it is gone)."""
        kind, namespace, name = place.resource.kind, place.namespace, place.name
        current = self._current(place)
        if deletion.dry_run:
            check_preconditions(current, deletion.uid, deletion.resource_version)
            return current, True
        if kind == "Namespace" and "deletionTimestamp" in current["metadata"]:
            raise NamespaceGoing(place.resource, name)
        # Left to itself, a batch Job deletes as its first version did: its pods stay.
        propagation = deletion.propagation or ("Orphan" if kind == "Job" else "Background")
        left = self._store.delete(
            kind,
            namespace,
            name,
            uid=deletion.uid,
            resource_version=deletion.resource_version,
            propagation=propagation,
            grace_seconds=deletion.grace_seconds,
        )
        return left or current, self._store.get(kind, namespace, name) is None

    # Inside

    def _now(self) -> str:
        return timestamp(self._clock())

    def _manager(self, place: Place, options: Options, operation: str) -> Manager:
        return Manager(options.manager, operation, place.subresource, place.resource.api_version)

    def _current(self, place: Place) -> Obj:
        current = self._store.get(place.resource.kind, place.namespace, place.name)
        if current is None:
            raise NotFound(place.resource, place.name)
        return current

    def _new(self, place: Place, obj: Obj) -> Obj:
        meta = obj["metadata"]
        if not meta.get("name") and not meta.get("generateName"):
            raise validation.missing_name(place.resource.kind)
        if place.namespace is not None:
            meta["namespace"] = place.namespace
        new = self._store.prepare(obj)
        if place.resource.status and place.resource.kind != "Node":
            new.pop("status", None)
        defaults.fill(new)
        return new

    def _admit_new(self, new: Obj, options: Options) -> Obj:
        """From a defaulted and owned object to a stored one."""
        self._check_namespace(new)
        validation.check_new(new)
        uid, created = new["metadata"]["uid"], new["metadata"]["creationTimestamp"]
        defaults.prepare_new(new)
        self._webhooks.mutate(new, None)
        defaults.finish_new(new, created)
        validation.check_new(new)
        self._webhooks.validate(new, None)
        if options.dry_run:
            self._check_name(new)
            return new
        stored = self._store.create(new, uid=uid)
        if new["kind"] == "Namespace":
            furnish(self._store, new["metadata"]["name"])
        return stored

    def _check_name(self, new: Obj) -> None:
        """A dry run is refused as the write would be."""
        meta = new["metadata"]
        if self._store.get(new["kind"], meta.get("namespace"), meta["name"]) is not None:
            raise AlreadyExists(BY_KIND[new["kind"]], meta["name"])

    def _check_namespace(self, new: Obj) -> None:
        """New content needs a namespace that is there to stay."""
        resource, name = BY_KIND[new["kind"]], new["metadata"].get("namespace")
        if not resource.namespaced:
            return
        namespace = self._store.get("Namespace", None, name)
        if namespace is None:
            raise NotFound(BY_KIND["Namespace"], name)
        if "deletionTimestamp" in namespace["metadata"]:
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {name} is being terminated",
                "field": "metadata.namespace",
            }
            text = f"unable to create new content in namespace {name} because it is being terminated"
            raise Forbidden(resource, new["metadata"]["name"], text, [cause])

    def _change(self, current: Obj, proposed: Obj, place: Place, options: Options) -> Obj:
        check_version(place.resource, proposed["metadata"], current["metadata"])
        owners = current["metadata"].get("managedFields")
        proposed["metadata"].pop("managedFields", None)
        if owners:
            proposed["metadata"]["managedFields"] = owners
        if not place.subresource:
            defaults.fill(proposed)
        new = self._store.merged(current, proposed, status=bool(place.subresource))
        server_side.own_update(current, new, self._manager(place, options, "Update"), self._now())
        return self._settle(current, new, place, options)

    def _settle(self, current: Obj, new: Obj, place: Place, options: Options) -> Obj:
        """From an owned new state of an object to a stored one."""
        status = bool(place.subresource)
        if not status:
            defaults.fill(new)
            self._webhooks.mutate(new, current)
            if _timeless(new) == _timeless(current):
                return current
            validation.check_change(current, new)
            self._webhooks.validate(new, current)
        if options.dry_run:
            return self._store.merged(current, new, status=status)
        return self._store.update(new, status=status)


def _timeless(obj: Obj) -> Obj:
    """Without the times of ownership, which a write that changes nothing does not move."""
    owners = [{**entry, "time": ""} for entry in obj["metadata"].get("managedFields") or []]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": owners}}


def check_manager(name: str | None) -> str:
    """The fieldManager of an apply. Raises ApiError (422)."""
    faults: list[Cause] = []
    if not name:
        faults.append(Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager"))
    elif len(name.encode()) > 128:
        faults.append(Cause("FieldValueTooLong", "Too long: may not be more than 128 bytes", "fieldManager"))
    if name and not faults:
        return name
    raise _bad_option("PatchOptions", faults[0])


def check_dry_run(kind: str, values: Sequence[object]) -> bool:
    """Whether nothing is to be stored. kind: of the options. Raises ApiError (422) for a dry run that there is not."""
    if any(value != "All" for value in values):
        told = f'Unsupported value: {compact(list(values))}: supported values: "All"'
        raise _bad_option(kind, Cause("FieldValueNotSupported", told, "dryRun"))
    return bool(values)


def check_propagation(value: str | None) -> str | None:
    """What becomes of dependents. Raises ApiError (422) for a way that there is not."""
    if value in (None, "Foreground", "Background", "Orphan"):
        return value
    told = f'Unsupported value: "{value}": supported values: "Background", "Foreground", "Orphan", "nil"'
    raise _bad_option("DeleteOptions", Cause("FieldValueNotSupported", told, "propagationPolicy"))


def _bad_option(kind: str, fault: Cause) -> ApiError:
    details: Obj = {"group": "meta.k8s.io", "kind": kind, "causes": [fault.as_dict()]}
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {fault.field}: {fault.message}', details)


def _check_namespace_of(meta: Obj, place: Place) -> None:
    if place.namespace is not None and meta.get("namespace") not in (None, "", place.namespace):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
