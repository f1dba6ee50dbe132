"""Pods made from a template, as a controller sends them and the API server completes them."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from portal.cluster.simulated.names import generate_name
from portal.cluster.simulated.objects import BY_KIND, Obj, copy
from portal.cluster.simulated.pod_defaults import admit_pod, fill_pod

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 9
LONGEST_LABEL = 63


def controller_ref(owner: Obj) -> Obj:
    """The owner reference of an object's controller."""
    return {
        "apiVersion": owner.get("apiVersion") or BY_KIND[owner["kind"]].api_version,
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from(template: Obj, owner: Obj, *, prefix: str, name: str = "") -> Obj:
    """A new pod of `owner`, not yet stored. prefix: what its name begins with; name: the whole name, where the
    controller chooses it."""
    meta = copy(template.get("metadata") or {})
    metadata: Obj = {
        "name": name or generate_name(prefix),
        "generateName": prefix,
        "namespace": owner["metadata"]["namespace"],
        "labels": meta.get("labels") or {},
        "annotations": meta.get("annotations") or {},
        "ownerReferences": [controller_ref(owner)],
    }
    pod: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy(template.get("spec") or {})}
    fill_pod(pod)
    admit_pod(pod)
    return pod


def template_hash(template: Obj) -> str:
    """The short name of a template's content, as in pod-template-hash and controller-revision-hash."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_HASH_LENGTH])


def long_label(pod: Obj) -> str | None:
    """The first label whose value the API server would refuse for its length, or None."""
    labels: dict[str, Any] = pod["metadata"].get("labels") or {}
    return next((key for key, value in labels.items() if len(str(value)) > LONGEST_LABEL), None)
