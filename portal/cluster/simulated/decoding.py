"""From the bytes of a request to an object, and what is refused on the way."""

from __future__ import annotations

from typing import Any

import orjson
import yaml

from portal.cluster.simulated.errors import ApiError, BadRequest
from portal.cluster.simulated.objects import Obj, Resource
from portal.cluster.simulated.shapes import fault

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_YAML = "application/yaml"
_BODIES = (JSON, _YAML, "application/vnd.kubernetes.protobuf")
_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)


def media_type(content_type: str | None, *, patch: bool) -> str:
    """The media type of a body, without its parameters. Raises ApiError (415) for one that is not taken here."""
    media = (content_type or JSON).partition(";")[0].strip().lower()
    accepted = _PATCHES if patch else _BODIES
    if media not in accepted[:2] + (APPLY_PATCH,) * patch:
        text = "the body of the request was in an unknown format - accepted media types include: "
        raise ApiError(415, "UnsupportedMediaType", text + ", ".join(accepted))
    return media


def decode(body: bytes, media: str, kind: str) -> Any:
    """The document in a body. Raises BadRequest."""
    try:
        if media in (_YAML, APPLY_PATCH) and not body.lstrip().startswith(b"{"):
            return yaml.safe_load(body)
        return orjson.loads(body)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise BadRequest(_unreadable(body, kind, str(error))) from error


def as_object(document: Any, resource: Resource) -> Obj:
    """The document as an object of this resource; kind and apiVersion may be left out. Raises BadRequest."""
    if not isinstance(document, dict):
        raise BadRequest(f"the object provided is unrecognized (must be of type {resource.kind})")
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, **without_nulls(document)}
    if obj["kind"] != resource.kind:
        raise BadRequest(_wrong_kind(obj, resource))
    if obj["apiVersion"] != resource.api_version:
        text = f"the API version in the data ({obj['apiVersion']}) does not match the expected API version"
        raise BadRequest(f"{text} ({resource.api_version})")
    obj.setdefault("metadata", {})
    check_types(obj, resource)
    return obj


def check_types(obj: Obj, resource: Resource) -> None:
    """Raises BadRequest for the first field of a wrong type, among those that something here reads."""
    wrong = fault(obj)
    if wrong is not None:
        handled = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
        raise BadRequest(f"{handled}: {wrong}")


def without_nulls(value: Any) -> Any:
    """As a typed decoder reads it: a field that is null is a field that is not there."""
    if isinstance(value, dict):
        return {name: without_nulls(below) for name, below in value.items() if below is not None}
    return [without_nulls(below) for below in value] if isinstance(value, list) else value


def _wrong_kind(obj: Obj, resource: Resource) -> str:
    version = str(obj["apiVersion"]).rpartition("/")[2]
    internal = resource.group.partition(".")[0] or "core"
    return (
        f'{obj["kind"]} in version "{version}" cannot be handled as a {resource.kind}: '
        f"converting ({version}.{obj['kind']}) to ({internal}.{resource.kind}): unknown conversion"
    )


def _unreadable(body: bytes, kind: str, error: str) -> str:
    text = body.decode(errors="replace")
    shown = text if len(text) <= 30 else f"{text[:30]} ..."
    cause = "unexpected end of JSON input" if "unexpected end of data" in error or not body else error
    return (
        f"the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; "
        f"json parse error: {cause} ({shown})"
    )
