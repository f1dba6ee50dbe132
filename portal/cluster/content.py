"""Which objects are mirrored, which of their fields are kept, and the hash that tells a changed object. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from portal.admission.quantities import pod_requests, render
from portal.cluster import names
from portal.cluster.port import JsonObject

# Watched only where they carry our labels; everything else of these kinds is other people's business.
OURS_ONLY = frozenset(
    {
        "Namespace",
        "Pod",
        "Service",
        "ConfigMap",
        "PersistentVolumeClaim",
        "ServiceAccount",
        "ResourceQuota",
        "LimitRange",
        "StatefulSet",
        "Deployment",
        "Job",
        "Role",
        "RoleBinding",
        "NetworkPolicy",
        "HTTPRoute",
    }
)
# Watched whole: who waits before us, what is free, what happened.
WHOLE = frozenset(
    {
        "Node",
        "ResourceFlavor",
        "ClusterQueue",
        "Cohort",
        "WorkloadPriorityClass",
        "LocalQueue",
        "Workload",
        "Event",
    }
)
MIRRORED = OURS_ONLY | WHOLE

JOB_UID = "kueue.x-k8s.io/job-uid"
_LONGEST_ANNOTATION = 512
_METADATA = (
    "name",
    "namespace",
    "uid",
    "generation",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
# Annotations that Kubernetes' own controllers and kubectl write onto anybody's objects.
_FOREIGN_ANNOTATIONS = (
    "deployment.kubernetes.io/",
    "kubectl.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
)
# Paths below spec that somebody else owns after creation: Kueue, the binding of volumes (a claim that came before there
# was a default class gets it later).
_FOREIGN_SPEC: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Job": (
        ("suspend",),
        ("parallelism",),
        ("template", "metadata"),
        ("template", "spec", "nodeSelector"),
        ("template", "spec", "tolerations"),
        ("template", "spec", "schedulingGates"),
    ),
    "PersistentVolumeClaim": (("volumeName",), ("storageClassName",), ("volumeMode",)),
}


def selector(kind: str, instance: str) -> str:
    """The label selector under which a kind is watched; empty for the kinds that are watched whole."""
    if kind not in OURS_ONLY:
        return ""
    return f"{names.MANAGED_BY}={names.OURS},{names.INSTANCE}={instance}"


def manifest_hash(manifest: JsonObject) -> str:
    """The hash of a manifest as it is written."""
    return _hash(manifest)


def content_hash(obj: JsonObject) -> str:
    """Labels, annotations and what the object says (spec, data, rules, …), less what others own by right."""
    metadata = obj.get("metadata") or {}
    said = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    for path in _FOREIGN_SPEC.get(str(obj.get("kind", "")), ()):
        said["spec"] = _without(said.get("spec") or {}, path)
    return _hash([metadata.get("labels") or {}, _annotations(metadata, longest=None), said])


def trim(obj: JsonObject) -> JsonObject:
    """What the mirror keeps: Kubernetes' own shape with the fields that Turno reads."""
    found = obj.get("metadata") or {}
    metadata = {key: found[key] for key in _METADATA if key in found}
    annotations = _annotations(found, longest=_LONGEST_ANNOTATION)
    if annotations:
        metadata["annotations"] = annotations
    kind = str(obj.get("kind", ""))
    keep = _KEEP.get(kind, _only_status)
    return {"metadata": metadata, **keep(obj)}


def owner_uid(obj: JsonObject) -> str:
    """The uid of the controlling owner, else of the first; of an Event, of what it is about."""
    if obj.get("kind") == "Event":
        return str((obj.get("involvedObject") or {}).get("uid") or "")
    owners = (obj.get("metadata") or {}).get("ownerReferences") or []
    controlling = [owner for owner in owners if owner.get("controller")] or owners
    return str(controlling[0].get("uid") or "") if controlling else ""


def job_uid(obj: JsonObject) -> str:
    """Of a Kueue Workload: the uid of the Job, StatefulSet or pod it stands for."""
    if obj.get("kind") != "Workload":
        return ""
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return str(labels.get(JOB_UID) or owner_uid(obj))


def queue_name(data: Mapping[str, Any]) -> str:
    """Of a mirrored Kueue Workload: the LocalQueue in its namespace."""
    return str((data.get("spec") or {}).get("queueName") or "")


def state(obj: JsonObject) -> str:
    """Of a Kueue Workload: `finished`, `reserved` (holds quota), `inactive` or `pending`; empty for other kinds."""
    if obj.get("kind") != "Workload":
        return ""
    true = {c.get("type") for c in (obj.get("status") or {}).get("conditions") or [] if c.get("status") == "True"}
    if "Finished" in true:
        return "finished"
    if "QuotaReserved" in true:
        return "reserved"
    return "inactive" if (obj.get("spec") or {}).get("active") is False else "pending"


def _annotations(metadata: Mapping[str, Any], *, longest: int | None) -> dict[str, str]:
    return {
        key: value
        for key, value in (metadata.get("annotations") or {}).items()
        if not key.startswith(_FOREIGN_ANNOTATIONS) and (longest is None or len(str(value)) <= longest)
    }


def _only_status(obj: JsonObject) -> JsonObject:
    return {"spec": {}, "status": obj.get("status") or {}}


def _everything(obj: JsonObject) -> JsonObject:
    said = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {"spec": {}, "status": {}, **said}


def _fields(*keys: str) -> Callable[[JsonObject], JsonObject]:
    def keep(obj: JsonObject) -> JsonObject:
        return {"spec": _pick(obj.get("spec") or {}, keys), "status": obj.get("status") or {}}

    return keep


def _event(obj: JsonObject) -> JsonObject:
    keys = ("involvedObject", "reason", "message", "type", "count", "firstTimestamp", "lastTimestamp", "eventTime")
    return {"spec": {}, "status": {}, **_pick(obj, (*keys, "series", "source", "reportingComponent"))}


def _pod(obj: JsonObject) -> JsonObject:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    kept = _pick(spec, ("nodeName", "schedulingGates", "terminationGracePeriodSeconds", "restartPolicy"))
    kept["requests"] = _requests(spec)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            kept[part] = [{"name": each.get("name", "")} for each in spec[part]]
    said = _pick(status, ("phase", "reason", "message", "startTime"))
    said["conditions"] = [_without(c, ("lastProbeTime",)) for c in status.get("conditions") or []]
    for part in ("containerStatuses", "initContainerStatuses"):
        if status.get(part):
            keys = ("name", "ready", "started", "restartCount", "state", "lastState", "image")
            said[part] = [_pick(each, keys) for each in status[part]]
    return {"spec": kept, "status": said}


def _node(obj: JsonObject) -> JsonObject:
    status = obj.get("status") or {}
    said = _pick(status, ("capacity", "allocatable"))
    # Heartbeats change every few seconds and say nothing.
    said["conditions"] = [
        _without(c, ("lastHeartbeatTime",)) for c in status.get("conditions") or [] if c.get("type") == "Ready"
    ]
    return {"spec": _pick(obj.get("spec") or {}, ("unschedulable", "taints")), "status": said}


def _kueue_workload(obj: JsonObject) -> JsonObject:
    spec = obj.get("spec") or {}
    kept = _pick(spec, ("queueName", "priority", "priorityClassRef", "active", "maximumExecutionTimeSeconds"))
    kept["podSets"] = [_podset(each) for each in spec.get("podSets") or []]
    return {"spec": kept, "status": obj.get("status") or {}}


def _requests(pod: JsonObject) -> dict[str, str]:
    """What a pod's spec asks for in all, as quantities."""
    return {name: render(name, amount) for name, amount in pod_requests(pod).items()}


def _podset(obj: JsonObject) -> JsonObject:
    """A pod set as `portal.admission.translation` reads it, without its template."""
    pod = (obj.get("template") or {}).get("spec") or {}
    kept = {**_pick(obj, ("name", "count", "minCount")), "requests": _requests(pod)}
    return {**kept, **_pick(pod, ("nodeSelector", "tolerations"))}


_KEEP: Mapping[str, Callable[[JsonObject], JsonObject]] = {
    "Pod": _pod,
    "Node": _node,
    "Event": _event,
    "Workload": _kueue_workload,
    "Job": _fields("suspend", "parallelism", "completions", "completionMode", "backoffLimit"),
    "StatefulSet": _fields("replicas"),
    "Deployment": _fields("replicas"),
    "PersistentVolumeClaim": _fields("resources", "storageClassName", "volumeName"),
    "ResourceFlavor": _everything,
    "ClusterQueue": _everything,
    "Cohort": _everything,
    "WorkloadPriorityClass": _everything,
    "LocalQueue": _everything,
}


def _pick(value: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: value[key] for key in keys if key in value}


def _without(value: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """A copy without what lies at the path."""
    first, *rest = path
    if first not in value:
        return dict(value)
    if not rest:
        return {key: each for key, each in value.items() if key != first}
    inner = value[first]
    return {**value, first: _without(inner, tuple(rest)) if isinstance(inner, dict) else inner}


def _hash(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()
