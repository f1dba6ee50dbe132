"""The kinds the simulated cluster serves, and small facts about objects that everything here shares.

An object is the JSON form of a Kubernetes object: plain dicts, lists, text, numbers. Kinds are told apart by
their kind name alone, which is unique within this registry.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

Obj = dict[str, Any]
Key = tuple[str, str, str]
"""(kind, namespace or "", name)"""

_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_KUEUE = "kueue.x-k8s.io"
_GATEWAY = "gateway.networking.k8s.io"
_RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Resource:
    """One served resource. `generation` says whether the API server counts spec changes for it; `custom` marks
    kinds that a real cluster has from a CustomResourceDefinition: their answers differ in small ways (items of a
    list carry kind and apiVersion, an apply of an unknown field is pruned)."""

    kind: str
    group: str
    version: str
    plural: str
    namespaced: bool = True
    status: bool = False
    generation: bool = False
    custom: bool = False
    short: tuple[str, ...] = ()
    verbs: tuple[str, ...] = _ALL_VERBS

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_plural(self) -> str:
        """As messages name it: `jobs.batch`, and `pods` for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """As messages about invalid objects name it: `Job.batch`, and `Pod` for the core group."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


def _kueue(kind: str, plural: str, *, namespaced: bool = False, status: bool = True) -> Resource:
    return Resource(kind, _KUEUE, "v1beta2", plural, namespaced, status, generation=True, custom=True)


RESOURCES: tuple[Resource, ...] = (
    Resource("Namespace", "", "v1", "namespaces", namespaced=False, status=True, short=("ns",)),
    Resource("Node", "", "v1", "nodes", namespaced=False, status=True, short=("no",)),
    Resource("Pod", "", "v1", "pods", status=True, generation=True, short=("po",)),
    Resource("Service", "", "v1", "services", status=True, short=("svc",)),
    Resource("Secret", "", "v1", "secrets"),
    Resource("ConfigMap", "", "v1", "configmaps", short=("cm",)),
    Resource("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", status=True, short=("pvc",)),
    Resource("ServiceAccount", "", "v1", "serviceaccounts", short=("sa",)),
    Resource("ResourceQuota", "", "v1", "resourcequotas", status=True, short=("quota",)),
    Resource("LimitRange", "", "v1", "limitranges", short=("limits",)),
    Resource("Event", "", "v1", "events", short=("ev",)),
    Resource("StatefulSet", "apps", "v1", "statefulsets", status=True, generation=True, short=("sts",)),
    Resource("Deployment", "apps", "v1", "deployments", status=True, generation=True, short=("deploy",)),
    Resource("ReplicaSet", "apps", "v1", "replicasets", status=True, generation=True, short=("rs",)),
    Resource("Job", "batch", "v1", "jobs", status=True, generation=True),
    Resource("Lease", "coordination.k8s.io", "v1", "leases"),
    Resource("Role", _RBAC, "v1", "roles"),
    Resource("RoleBinding", _RBAC, "v1", "rolebindings"),
    Resource("ClusterRole", _RBAC, "v1", "clusterroles", namespaced=False),
    Resource("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies", generation=True, short=("netpol",)),
    Resource("Gateway", _GATEWAY, "v1", "gateways", status=True, generation=True, custom=True, short=("gtw",)),
    Resource("HTTPRoute", _GATEWAY, "v1", "httproutes", status=True, generation=True, custom=True),
    _kueue("ResourceFlavor", "resourceflavors", status=False),
    _kueue("ClusterQueue", "clusterqueues"),
    _kueue("LocalQueue", "localqueues", namespaced=True),
    _kueue("Cohort", "cohorts"),
    _kueue("Workload", "workloads", namespaced=True),
    _kueue("WorkloadPriorityClass", "workloadpriorityclasses", status=False),
    _kueue("Topology", "topologies", status=False),
    _kueue("AdmissionCheck", "admissionchecks"),
)

BY_KIND: dict[str, Resource] = {resource.kind: resource for resource in RESOURCES}


def key_of(obj: Obj) -> Key:
    """The identity of an object inside the store."""
    meta = obj["metadata"]
    return obj["kind"], meta.get("namespace") or "", meta["name"]


def copy(obj: Obj) -> Obj:
    """A deep copy; several times faster than copy.deepcopy for JSON data."""
    copied: Obj = orjson.loads(orjson.dumps(obj))
    return copied


def timestamp(moment: datetime) -> str:
    """metav1.Time: RFC 3339, UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_timestamp(moment: datetime) -> str:
    """metav1.MicroTime, as in leases and events.k8s.io."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(text: str) -> datetime:
    """The reverse of `timestamp` and `micro_timestamp`. Raises ValueError."""
    return datetime.fromisoformat(text)
