"""Whether an object is what an API server would take: the CRDs' own schemas, and the client's models."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from kubernetes.client.api_client import ApiClient

CRDS = Path(__file__).parents[2].parent / "shared" / "crds"


def round_trip(obj: dict[str, Any], model: str) -> dict[str, Any]:
    """The object after the client's model (`V1Namespace`) has read and written it; what it does not know is gone."""
    api = ApiClient()
    read = api.deserialize(json.dumps(obj), model, "application/json")
    written: dict[str, Any] = api.sanitize_for_serialization(read)
    return written


def crd_faults(obj: dict[str, Any]) -> list[str]:
    """What the CRD's schema refuses, unknown fields included. Skips where the CRDs are not beside the checkout."""
    if not CRDS.is_dir():
        pytest.skip("the CRDs are not beside this checkout")
    schema = _schemas()[obj["apiVersion"], obj["kind"]]
    return [f"{fault.json_path}: {fault.message}" for fault in jsonschema.Draft202012Validator(schema).iter_errors(obj)]


@cache
def _schemas() -> dict[tuple[str, str], dict[str, Any]]:
    found = {}
    for file in CRDS.glob("*/*.yaml"):
        if file.parent.name not in ("kueue", "gateway-api"):
            continue
        crd = yaml.load(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        spec = crd["spec"]
        for version in spec["versions"]:
            key = f"{spec['group']}/{version['name']}", spec["names"]["kind"]
            schema = version["schema"]["openAPIV3Schema"]
            schema["properties"]["metadata"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            found[key] = _strict(schema)
    return found


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    """As JSON Schema: unknown fields refused, `int or string` and null as Kubernetes means them."""
    out = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-") and key != "description"}
    if schema.get("x-kubernetes-int-or-string"):
        out["type"] = ["integer", "string"]
        out.pop("anyOf", None)
    for key in ("items", "additionalProperties", "not"):
        if isinstance(out.get(key), dict):
            out[key] = _strict(out[key])
    for key in ("anyOf", "allOf", "oneOf"):
        if key in out:
            out[key] = [_strict_part(part) for part in out[key]]
    if "properties" in out:
        out["properties"] = {name: _strict(each) for name, each in out["properties"].items()}
        if "additionalProperties" not in out and not schema.get("x-kubernetes-preserve-unknown-fields"):
            out["additionalProperties"] = False
    out.pop("format", None)
    return out


def _strict_part(schema: dict[str, Any]) -> dict[str, Any]:
    """Inside anyOf and its like, properties are conditions and not the whole object."""
    out = _strict(schema)
    if out.get("additionalProperties") is False and "additionalProperties" not in schema:
        del out["additionalProperties"]
    return out
