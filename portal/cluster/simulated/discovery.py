"""What a client learns about the API itself: version, groups, resources."""

from __future__ import annotations

from portal.cluster.simulated.objects import RESOURCES, Obj, Resource

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.1",
    "gitCommit": "simulated",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "simulated",
}
_VISIBILITY = "visibility.kueue.x-k8s.io/v1beta2"
_REVIEWS = "authorization.k8s.io/v1"


def core_versions() -> Obj:
    """GET /api."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups() -> Obj:
    """GET /apis."""
    versions = {resource.api_version for resource in RESOURCES if resource.group} | {_VISIBILITY, _REVIEWS}
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(version) for version in sorted(versions)]}


def group(name: str) -> Obj | None:
    """GET /apis/<group>."""
    found = [one for one in groups()["groups"] if one["name"] == name]
    return {"kind": "APIGroup", "apiVersion": "v1", **found[0]} if found else None


def resources(group_version: str) -> Obj | None:
    """GET /api/v1 and /apis/<group>/<version>."""
    listed: list[Obj] = []
    for resource in RESOURCES:
        if resource.api_version == group_version:
            listed += _listed(resource)
    if group_version == "v1":
        log = {"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]}
        listed.append(log)
    if group_version == _REVIEWS:
        review = {"name": "selfsubjectaccessreviews", "singularName": "selfsubjectaccessreview", "namespaced": False}
        listed.append({**review, "kind": "SelfSubjectAccessReview", "verbs": ["create"]})
    if group_version == _VISIBILITY:
        for name, namespaced in (("clusterqueues", False), ("localqueues", True)):
            pending = {"name": f"{name}/pendingworkloads", "singularName": "", "namespaced": namespaced}
            listed.append({**pending, "kind": "PendingWorkloadsSummary", "verbs": ["get"]})
    if not listed:
        return None
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


def _group(group_version: str) -> Obj:
    name, _, version = group_version.partition("/")
    entry = {"groupVersion": group_version, "version": version}
    return {"name": name, "versions": [entry], "preferredVersion": entry}


def _listed(resource: Resource) -> list[Obj]:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.kind.lower(),
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short:
        entry["shortNames"] = list(resource.short)
    if not resource.status:
        return [entry]
    status = {"name": f"{resource.plural}/status", "singularName": "", "namespaced": resource.namespaced}
    return [entry, {**status, "kind": resource.kind, "verbs": ["get", "patch", "update"]}]
