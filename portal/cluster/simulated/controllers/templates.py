"""Pods made from a template, with what the API server and its admission plugins fill in."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from portal.cluster.simulated.names import random_suffix
from portal.cluster.simulated.objects import BY_KIND, Obj, copy

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_NAME, _SUFFIX = 63, 5
LONGEST_LABEL = 63
_POD_DEFAULTS: Obj = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_CONTAINER_DEFAULTS: Obj = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
}


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


def pod_from(template: Obj, owner: Obj, *, name: str, generate_name: str = "") -> Obj:
    """A new pod of `owner`, not yet stored. name: whole; generate_name: what it was made of, kept in the metadata."""
    meta = template.get("metadata") or {}
    spec = {**copy(_POD_DEFAULTS), **copy(template.get("spec") or {})}
    spec["containers"] = [{**copy(_CONTAINER_DEFAULTS), **container} for container in spec.get("containers") or []]
    spec["tolerations"] = [*(spec.get("tolerations") or []), *_default_tolerations(spec.get("tolerations") or [])]
    metadata: Obj = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": dict(meta.get("labels") or {}),
        "annotations": dict(meta.get("annotations") or {}),
        "ownerReferences": [controller_ref(owner)],
    }
    if generate_name:
        metadata["generateName"] = generate_name
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    pod["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
    return pod


def generated(prefix: str) -> str:
    """A name with a random ending, as generateName makes them."""
    return prefix[: _LONGEST_NAME - _SUFFIX] + random_suffix()


def template_hash(template: Obj) -> str:
    """The short name of a template's content, as in pod-template-hash and controller-revision-hash."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:9])


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, by cpu and memory."""
    asked = [container.get("resources") or {} for container in spec.get("containers") or []]
    if not any(resources.get("requests") or resources.get("limits") for resources in asked):
        return "BestEffort"
    return "Guaranteed" if all(_is_guaranteed(resources) for resources in asked) else "Burstable"


def long_label(pod: Obj) -> str | None:
    """The first label whose value the API server would refuse for its length, or None."""
    labels: dict[str, Any] = pod["metadata"].get("labels") or {}
    return next((key for key, value in labels.items() if len(str(value)) > LONGEST_LABEL), None)


def _is_guaranteed(resources: Obj) -> bool:
    limits = resources.get("limits") or {}
    requests = {**limits, **(resources.get("requests") or {})}
    return all(name in limits and requests[name] == limits[name] for name in ("cpu", "memory"))


def _default_tolerations(given: list[Obj]) -> list[Obj]:
    known = {toleration.get("key") for toleration in given}
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in (_NOT_READY, _UNREACHABLE)
        if key not in known
    ]
