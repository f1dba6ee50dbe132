"""Kubernetes objects as a cluster would show them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from portal.cluster import names
from portal.cluster.port import RESOURCES, JsonObject

INSTANCE = "turno"


def made(
    kind: str,
    name: str,
    *,
    uid: str = "",
    version: int = 1,
    namespace: str = "turno-data",
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    **said: Any,
) -> JsonObject:
    """Any object; `owner`: (kind, uid) of the controller."""
    metadata: dict[str, Any] = {"name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    if RESOURCES[kind].namespaced:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "uid": owner[1], "name": "owner", "controller": True}]
    return {"apiVersion": RESOURCES[kind].api_version, "kind": kind, "metadata": metadata, **said}


def ours(workload_id: UUID | None = None, run: int = 1, **labels: str) -> dict[str, str]:
    """Our labels, of one run of a workload."""
    mine = names.base_labels(INSTANCE) | labels
    return mine | ({names.WORKLOAD: str(workload_id), names.RUN: str(run)} if workload_id else {})


def kueue_workload(name: str, job_uid: str, *, reserved: bool = False, **given: Any) -> JsonObject:
    conditions = [{"type": "QuotaReserved", "status": "True" if reserved else "False"}]
    labels = {"kueue.x-k8s.io/job-uid": job_uid}
    spec = {"queueName": "data", "priority": 0, "active": True, "podSets": [], **given.pop("spec", {})}
    return made("Workload", name, labels=labels, spec=spec, status={"conditions": conditions}, **given)


def event(name: str, about: str, **given: Any) -> JsonObject:
    return made("Event", name, involvedObject={"uid": about}, reason="Pulled", message="done", **given)
