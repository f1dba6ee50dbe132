"""What the API server fills into objects before they are stored, for the fields that somebody here reads.

`fill` is defaulting proper (the writer comes to own these fields); `prepare_new` is what a kind's create strategy and
the admission plugins add afterwards, which nobody owns.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

from portal.cluster.simulated.canonical import canonicalize, canonicalize_resources
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.pod_defaults import admit_pod, fill_pod, fill_template, gated_status

_RBAC = "rbac.authorization.k8s.io"
_GATEWAY = "gateway.networking.k8s.io"
_ROOT_PATH: Obj = {"path": {"type": "PathPrefix", "value": "/"}}


def fill(obj: Obj) -> None:
    """Defaults, in place. Called for every write; what is there stays."""
    filler = _FILLERS.get(obj["kind"])
    if filler is not None:
        filler(obj)


def prepare_new(obj: Obj) -> None:
    """What a new object gets that its writer does not own, in place. `obj` has its uid already."""
    preparer = _PREPARERS.get(obj["kind"])
    if preparer is not None:
        preparer(obj)
    if obj["kind"] == "Pod":
        admit_pod(obj)


def finish_new(obj: Obj, at: str) -> None:
    """After the webhooks: a pod's first status, which tells whether it is gated."""
    if obj["kind"] == "Pod":
        obj["status"] = gated_status(obj["spec"], at)


def _template(spec: Obj) -> Obj:
    template = spec.setdefault("template", {})
    pod_spec: Obj = template.setdefault("spec", {})
    fill_template(pod_spec)
    return pod_spec


def _namespace(obj: Obj) -> None:
    obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"]["name"]


def _new_namespace(obj: Obj) -> None:
    obj["spec"] = {"finalizers": ["kubernetes"]}
    obj["status"] = {"phase": "Active"}


def _job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    _template(spec)


def _new_job(obj: Obj) -> None:
    uid, name, spec = obj["metadata"]["uid"], obj["metadata"]["name"], obj["spec"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    meta = spec["template"].setdefault("metadata", {})
    meta["labels"] = {**(meta.get("labels") or {}), **labels}
    spec.setdefault("selector", {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}})
    if not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(meta["labels"])
    obj["status"] = {}


def _stateful_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in spec.get("volumeClaimTemplates") or []:
        _claim(claim)
    _template(spec)


def _new_stateful_set(obj: Obj) -> None:
    obj["status"] = {"replicas": 0, "availableReplicas": 0}


def _deployment(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    _template(spec)


def _replica_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _template(spec)


def _empty_status(obj: Obj) -> None:
    obj["status"] = {}


def _new_replica_set(obj: Obj) -> None:
    obj["status"] = {"replicas": 0}


def _service(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    for port in spec.get("ports") or []:
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))


def _new_service(obj: Obj) -> None:
    spec, name = obj["spec"], f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
    if spec["type"] != "ExternalName":
        digest = hashlib.sha256(name.encode()).digest()
        spec.setdefault("clusterIP", f"10.96.{digest[0]}.{digest[1] % 254 + 1}")
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
    obj["status"] = {"loadBalancer": {}}


def _secret(obj: Obj) -> None:
    obj.setdefault("type", "Opaque")
    texts = obj.pop("stringData", None) or {}
    if texts:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _claim(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    canonicalize_resources(spec)


def _new_claim(obj: Obj) -> None:
    obj["status"] = {"phase": "Pending"}


def _resource_quota(obj: Obj) -> None:
    canonicalize(obj.setdefault("spec", {}).get("hard"))


def _limit_range(obj: Obj) -> None:
    for limit in obj.setdefault("spec", {}).get("limits") or []:
        for name in ("min", "max", "default", "defaultRequest"):
            canonicalize(limit.get(name))
        if limit.get("type") == "Container" and limit.get("max"):
            limit["default"] = {**limit["max"], **(limit.get("default") or {})}
        if limit.get("type") == "Container" and limit.get("default"):
            limit["defaultRequest"] = {**limit["default"], **(limit.get("defaultRequest") or {})}


def _network_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or []), *(spec.get("egress") or [])):
        for port in rule.get("ports") or []:
            port.setdefault("protocol", "TCP")


def _role_binding(obj: Obj) -> None:
    obj.get("roleRef", {}).setdefault("apiGroup", _RBAC)
    for subject in obj.get("subjects") or []:
        if subject.get("kind") != "ServiceAccount":
            subject.setdefault("apiGroup", _RBAC)


def _cluster_queue(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("queueingStrategy", "BestEffortFIFO")
    spec.setdefault("stopPolicy", "None")
    fungibility = spec.setdefault("flavorFungibility", {})
    fungibility.setdefault("whenCanBorrow", "MayStopSearch")
    fungibility.setdefault("whenCanPreempt", "TryNextFlavor")
    preemption = spec.setdefault("preemption", {})
    preemption.setdefault("reclaimWithinCohort", "Never")
    preemption.setdefault("withinClusterQueue", "Never")
    preemption.setdefault("borrowWithinCohort", {}).setdefault("policy", "Never")
    if spec.get("fairSharing") is not None:
        spec["fairSharing"].setdefault("weight", 1)


def _local_queue(obj: Obj) -> None:
    obj.setdefault("spec", {}).setdefault("stopPolicy", "None")


def _cohort(obj: Obj) -> None:
    if (obj.get("spec") or {}).get("fairSharing") is not None:
        obj["spec"]["fairSharing"].setdefault("weight", 1)


def _workload(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("active", True)
    for pod_set in spec.get("podSets") or []:
        pod_set.setdefault("name", "main")
        pod_set.setdefault("count", 1)


def _http_route(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    for parent in spec.get("parentRefs") or []:
        parent.setdefault("group", _GATEWAY)
        parent.setdefault("kind", "Gateway")
    for rule in spec.setdefault("rules", [{}]):
        for match in rule.setdefault("matches", [{}]):
            path = match.setdefault("path", dict(_ROOT_PATH["path"]))
            path.setdefault("type", "PathPrefix")
            path.setdefault("value", "/")
            for test in (*(match.get("headers") or []), *(match.get("queryParams") or [])):
                test.setdefault("type", "Exact")
        for backend in rule.get("backendRefs") or []:
            backend.setdefault("group", "")
            backend.setdefault("kind", "Service")
            backend.setdefault("weight", 1)


_FILLERS: dict[str, Callable[[Obj], None]] = {
    "ClusterQueue": _cluster_queue,
    "Cohort": _cohort,
    "Deployment": _deployment,
    "HTTPRoute": _http_route,
    "Job": _job,
    "LimitRange": _limit_range,
    "LocalQueue": _local_queue,
    "Namespace": _namespace,
    "NetworkPolicy": _network_policy,
    "PersistentVolumeClaim": _claim,
    "Pod": fill_pod,
    "ReplicaSet": _replica_set,
    "ResourceQuota": _resource_quota,
    "RoleBinding": _role_binding,
    "Secret": _secret,
    "Service": _service,
    "StatefulSet": _stateful_set,
    "Workload": _workload,
}
_PREPARERS: dict[str, Callable[[Obj], None]] = {
    "Deployment": _empty_status,
    "Job": _new_job,
    "Namespace": _new_namespace,
    "PersistentVolumeClaim": _new_claim,
    "ReplicaSet": _new_replica_set,
    "ResourceQuota": _empty_status,
    "Service": _new_service,
    "StatefulSet": _new_stateful_set,
}
