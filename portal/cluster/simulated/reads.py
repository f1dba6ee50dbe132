"""Lists: selection, pages, versions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from portal.cluster.simulated.errors import ApiError, BadRequest, Expired
from portal.cluster.simulated.objects import Obj, Resource
from portal.cluster.simulated.selectors import Predicate, field_predicate, label_predicate
from portal.cluster.simulated.store import Store

_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105
_INVALID = "invalid continue token: continue key is not valid:"


@dataclass(frozen=True)
class Selection:
    """Which objects of a resource: a namespace (None: all, or none there are), and selectors."""

    resource: Resource
    namespace: str | None
    name: str
    labels: Predicate
    fields: Predicate
    everything: bool

    def __call__(self, obj: Obj) -> bool:
        meta = obj["metadata"]
        if self.namespace is not None and meta.get("namespace") != self.namespace:
            return False
        if self.name and meta["name"] != self.name:
            return False
        return self.everything or (self.labels(obj) and self.fields(obj))


def selection(resource: Resource, namespace: str | None, query: Mapping[str, str], name: str = "") -> Selection:
    """Raises BadRequest for a selector that cannot be read."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    return Selection(
        resource,
        namespace,
        name,
        label_predicate(labels),
        field_predicate(resource.kind, fields),
        everything=not labels and not fields,
    )


def list_objects(store: Store, wanted: Selection, query: Mapping[str, str]) -> Obj:
    """The List object. Raises ApiError: 400 for a bad token or number, 410 for a version that is no longer held, 504
    for one that is not there yet."""
    resource = wanted.resource
    rv, start = _version(store, query)
    held = store.snapshot(resource.kind, rv) if rv != store.rv else list(store.scan(resource.kind))
    found = [obj for obj in held if wanted(obj)]
    if start:
        found = [obj for obj in found if _key(obj, wanted) >= start.removeprefix("/")]
    limit = _whole(query, "limit") or len(found)
    page, rest = found[:limit], len(found) - limit
    meta: Obj = {"resourceVersion": str(rv)}
    if rest > 0:
        meta["continue"] = _token(rv, _key(page[-1], wanted), wanted)
        if wanted.everything:
            meta["remainingItemCount"] = rest
    items = page if resource.custom else [_bare(obj) for obj in page]
    return {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": meta, "items": items}


def only_metadata(listed: Obj) -> Obj:
    """A list as PartialObjectMetadataList."""
    part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    items = [{**part, "metadata": item["metadata"]} for item in listed["items"]]
    return {**listed, "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": items}


def parse_rv(text: str) -> int:
    """A resourceVersion of a query; "" is 0. Raises ApiError, 500 as the real server does."""
    if not text:
        return 0
    if not text.isdecimal():
        message = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise ApiError(500, None, message)
    return int(text)


def _version(store: Store, query: Mapping[str, str]) -> tuple[int, str]:
    """The version to list at, and the key to begin with."""
    token = query.get("continue", "")
    if token:
        rv, start = _read_token(token)
        try:
            store.events_since("Namespace", rv)
        except Expired as error:
            text = "The provided continue parameter is too old to display a consistent list result."
            raise Expired(text) from error
        return rv, start
    rv = parse_rv(query.get("resourceVersion", ""))
    if rv > store.rv:
        details: Obj = {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }
        text = f"Timeout: Too large resource version: {rv}, current: {store.rv}"
        raise ApiError(504, "Timeout", text, details)
    return (rv if query.get("resourceVersionMatch") == "Exact" else store.rv), ""


def _key(obj: Obj, wanted: Selection) -> str:
    meta = obj["metadata"]
    if wanted.namespace is not None or not wanted.resource.namespaced:
        return str(meta["name"])
    return f"{meta['namespace']}/{meta['name']}"


def _token(rv: int, last: str, wanted: Selection) -> str:
    slash = "/" if wanted.namespace is not None else ""
    document = {"v": _TOKEN_VERSION, "rv": rv, "start": f"{slash}{last}\0"}
    return base64.urlsafe_b64encode(orjson.dumps(document)).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"{_INVALID} illegal base64 data") from error
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        shown = chr(raw[0]) if raw else ""
        raise BadRequest(f"{_INVALID} invalid character '{shown}' looking for beginning of value") from error
    if not isinstance(document, dict) or document.get("v") != _TOKEN_VERSION:
        raise BadRequest(f"{_INVALID} server does not recognize this encoded version")
    if not isinstance(document.get("rv"), int) or not isinstance(document.get("start"), str):
        raise BadRequest(f"{_INVALID} incorrect encoded start resourceVersion")
    return document["rv"], document["start"]


def _whole(query: Mapping[str, str], name: str) -> int:
    text = query.get(name) or "0"
    if not text.isdecimal():
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _bare(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name not in ("kind", "apiVersion")}
