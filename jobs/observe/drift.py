"""What somebody changed on a run-owned object: the stored manifest against what the server has. Pure.

Only the fields of our own bytes count; what others added, and what the server or Kueue fills in, stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.observe.seen import as_list, as_map, text

JsonObject = dict[str, Any]
CONTAINER_FIELDS = ("image", "command", "args")
# Controllers that write onto everybody's objects: never the one who changed a field of ours.
CONTROLLERS = ("kube-controller-manager", "kube-scheduler", "kueue", "kubelet")


def repair(manifest: JsonObject, found: JsonObject) -> JsonObject:
    """The JSON merge patch that puts our fields back; empty where they all hold. A Job's own shape never changes."""
    patch: JsonObject = {}
    labels = as_map(as_map(found.get("metadata")).get("labels"))
    missing = {name: value for name, value in manifest["metadata"]["labels"].items() if labels.get(name) != value}
    if missing:
        patch["metadata"] = {"labels": missing}
    spec: JsonObject = {}
    if manifest["kind"] != "Job":
        there = as_map(found.get("spec"))
        if there.get("replicas") != manifest["spec"]["replicas"]:
            spec["replicas"] = manifest["spec"]["replicas"]
        ours = manifest["spec"]["template"]["spec"]["containers"]
        theirs = as_list(as_map(as_map(there.get("template")).get("spec")).get("containers"))
        if [_said(one) for one in ours] != [_said(one) for one in theirs]:
            spec["template"] = {"spec": {"containers": ours}}
    if spec:
        patch["spec"] = spec
    return patch


def _said(container: Mapping[str, Any]) -> tuple[object, ...]:
    """Name, image, words and literal variables, as far as the server keeps them as they were sent."""
    env = [(one.get("name"), one.get("value") or "") for one in as_list(container.get("env")) if "valueFrom" not in one]
    return (container.get("name"), *(container.get(name) or "" for name in CONTAINER_FIELDS), env)


def other_manager(found: JsonObject, ours: str) -> str:
    """Who wrote onto the object last, besides us and the controllers; "" where nobody did."""
    entries = as_list(as_map(found.get("metadata")).get("managedFields"))
    others = [one for one in entries if text(one, "manager") not in ("", ours, *CONTROLLERS)]
    newest = max(others, key=lambda one: text(one, "time"), default=None)
    return text(newest, "manager")
