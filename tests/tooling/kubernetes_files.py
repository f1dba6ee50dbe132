"""The objects of `deploy/kubernetes`, read as `kubectl apply -k` would: namespace and image tag filled in."""

from __future__ import annotations

from typing import Any

import yaml

from tests.tooling.processes import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
CLUSTER_SCOPED = {
    "Namespace",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
Manifest = dict[str, Any]


def kustomization() -> Manifest:
    found: Manifest = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    return found


def installed() -> list[Manifest]:
    """Every object, in the order of the files."""
    told = kustomization()
    tags = {image["name"]: image["newTag"] for image in told["images"]}
    found: list[Manifest] = []
    for name in told["resources"]:
        for one in yaml.safe_load_all((FOLDER / name).read_text()):
            if one["kind"] not in CLUSTER_SCOPED:
                one["metadata"]["namespace"] = told["namespace"]
            for container in containers(one):
                container["image"] = f"{container['image']}:{tags[container['image']]}"
            found.append(one)
    return found


def pod_of(one: Manifest) -> Manifest:
    """The pod's specification of what makes pods; empty for everything else."""
    found: Manifest = one.get("spec", {}).get("template", {}).get("spec", {}) if one["kind"] in MAKES_PODS else {}
    return found


def containers(one: Manifest) -> list[Manifest]:
    pod = pod_of(one)
    return [*pod.get("initContainers", []), *pod.get("containers", [])]


MAKES_PODS = {"Deployment", "Job"}
