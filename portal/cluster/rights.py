"""What each of Turno's processes may do on a cluster, as `deploy/kubernetes/roles.yaml` grants it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from portal.cluster.content import MIRRORED
from portal.cluster.port import RESOURCES, Right

PROCESSES = ("worker", "watch", "logs")
_BIND = ("turno-tenant-worker", "turno-tenant-logs")
_MAKE = ("get", "create", "patch")
_EVERYWHERE = {
    "Namespace": _MAKE,
    "RoleBinding": _MAKE,
    "ClusterQueue": _MAKE,
    "ResourceFlavor": (*_MAKE, "delete"),
    "Cohort": (*_MAKE, "delete"),
    "WorkloadPriorityClass": (*_MAKE, "delete"),
}
_IN_A_TEAM = {
    "ServiceAccount": _MAKE,
    "ResourceQuota": _MAKE,
    "LimitRange": _MAKE,
    "LocalQueue": _MAKE,
    "Service": (*_MAKE, "delete"),
    "PersistentVolumeClaim": (*_MAKE, "delete"),
    "Secret": (*_MAKE, "delete"),
    "NetworkPolicy": (*_MAKE, "delete"),
    "HTTPRoute": (*_MAKE, "delete"),
    "StatefulSet": (*_MAKE, "delete"),
    "Deployment": (*_MAKE, "delete"),
    "Job": (*_MAKE, "delete"),
    "Pod": ("list", "delete"),
}


def needed(process: str, teams: tuple[str, ...]) -> Iterator[Right]:
    """Every right that the process uses; `teams` are namespaces of teams in which it works."""
    if process == "watch":
        for kind in sorted(MIRRORED):
            yield from _of(kind, ("list", "watch"))
        yield from _of("ClusterQueue", ("get",))
        yield Right("get", "visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads")
    if process == "worker":
        for kind, verbs in _EVERYWHERE.items():
            yield from _of(kind, verbs)
        for role in _BIND:
            yield Right("bind", "rbac.authorization.k8s.io", "clusterroles", name=role)
    for namespace in teams:
        if process == "worker":
            for kind, verbs in _IN_A_TEAM.items():
                yield from _of(kind, verbs, namespace)
        if process == "logs":
            yield Right("get", "", "pods/log", namespace)


def _of(kind: str, verbs: tuple[str, ...], namespace: str = "") -> Iterator[Right]:
    resource = RESOURCES[kind]
    group = resource.api_version.rpartition("/")[0]
    for verb in verbs:
        yield Right(verb, group, resource.plural, namespace)
