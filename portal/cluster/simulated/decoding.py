"""From the bytes of a request to an object, and what is refused on the way."""

from __future__ import annotations

from typing import Any

import orjson
import yaml

from portal.cluster.simulated.errors import ApiError, BadRequest
from portal.cluster.simulated.objects import Obj, Resource

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
    obj = {"apiVersion": resource.api_version, "kind": resource.kind, **document}
    if obj["kind"] != resource.kind:
        raise BadRequest(_wrong_kind(obj, resource))
    if obj["apiVersion"] != resource.api_version:
        text = f"the API version in the data ({obj['apiVersion']}) does not match the expected API version"
        raise BadRequest(f"{text} ({resource.api_version})")
    obj["metadata"] = (
        dict(obj.get("metadata") or {}) if isinstance(obj.get("metadata") or {}, dict) else obj["metadata"]
    )
    check_types(obj, resource)
    return obj


def check_types(obj: Obj, resource: Resource) -> None:
    """The few types that everything here relies on. Raises BadRequest."""
    meta = obj["metadata"]
    if not isinstance(meta, dict):
        raise _mistyped(resource, meta, "metadata", "v1.ObjectMeta")
    for name in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(meta.get(name, ""), str | None):
            raise _mistyped(resource, meta[name], f"metadata.{name}", "string")
    for field, holder in (("metadata.labels", meta), ("metadata.annotations", meta), ("data", obj)):
        _check_text_map(resource, field, holder.get(field.rpartition(".")[2]))
    for name in ("ownerReferences", "finalizers", "managedFields"):
        if not isinstance(meta.get(name) or [], list):
            raise _mistyped(resource, meta[name], f"metadata.{name}", "[]")
    for name in ("spec", "status"):
        if not isinstance(obj.get(name) or {}, dict):
            raise _mistyped(resource, obj[name], name, f"{resource.kind}{name.capitalize()}")
    spec = obj.get("spec") or {}
    template = spec.get("template") if resource.kind != "Pod" else {"spec": spec}
    _check_containers(resource, template)


def _check_text_map(resource: Resource, field: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise _mistyped(resource, value, field, "map[string]string")
    for text in value.values():
        if not isinstance(text, str):
            raise _mistyped(resource, text, field, "string")


def _check_containers(resource: Resource, template: Any) -> None:
    if template is None:
        return
    spec = template.get("spec") or {} if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        raise _mistyped(resource, template, "spec.template", "v1.PodTemplateSpec")
    for part in ("containers", "initContainers", "volumes", "tolerations"):
        listed = spec.get(part) or []
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise _mistyped(resource, listed, f"spec.template.spec.{part}", "[]")


def _mistyped(resource: Resource, value: Any, field: str, wanted: str) -> BadRequest:
    found = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}.get(type(value), "object")
    text = f"json: cannot unmarshal {found} into Go struct field {resource.kind}.{field} of type {wanted}"
    return BadRequest(f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {text}')


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
