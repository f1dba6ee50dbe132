"""`deploy/kubernetes`: every process, restricted, with no more rights than it uses, and the same shape as the compose
file."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from kubernetes.client import ApiClient

from portal.cluster.content import MIRRORED
from portal.cluster.port import RESOURCES
from tenants.manifests import BOUND_ROLES
from tests.tooling.kubernetes_files import FOLDER, Manifest, containers, installed, kustomization, pod_of
from tests.tooling.processes import ROOT

OBJECTS = installed()
PROCESSES = {"web", "worker", "beat", "watch", "logs", "migrate"}
WITH_TOKEN = {"worker", "watch", "logs"}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
MODELS = {
    "Namespace": "V1Namespace",
    "ConfigMap": "V1ConfigMap",
    "ServiceAccount": "V1ServiceAccount",
    "Service": "V1Service",
    "Deployment": "V1Deployment",
    "Job": "V1Job",
    "ClusterRole": "V1ClusterRole",
    "ClusterRoleBinding": "V1ClusterRoleBinding",
    "NetworkPolicy": "V1NetworkPolicy",
    "PodDisruptionBudget": "V1PodDisruptionBudget",
    "ValidatingAdmissionPolicy": "V1ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding": "V1ValidatingAdmissionPolicyBinding",
}


def of_kind(*kinds: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] in kinds}


def shown(one: Manifest) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"


PODS = {name.removeprefix("turno-"): one for name, one in of_kind("Deployment", "Job").items()}
ROLES = of_kind("ClusterRole")


def rules(role: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of everything that a role grants."""
    return {
        (group, resource, verb)
        for rule in ROLES[role]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_every_file_is_listed() -> None:
    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization()["resources"]) == files


@pytest.mark.parametrize("one", OBJECTS, ids=shown)
def test_every_object_is_what_kubernetes_reads(one: Manifest) -> None:
    """A round trip through the client's own models comes back equal, so no field is misspelt."""
    client = ApiClient()
    model = client._ApiClient__deserialize(one, MODELS[one["kind"]])  # type: ignore[attr-defined]
    assert client.sanitize_for_serialization(model) == one


def test_every_process_is_there_with_an_account_of_its_own() -> None:
    assert set(PODS) == PROCESSES == set(COMPOSE) - {"postgres", "redis"}
    assert {name: pod_of(one)["serviceAccountName"] for name, one in PODS.items()} == {
        name: f"turno-{name}" for name in PROCESSES
    }
    assert set(of_kind("ServiceAccount")) == {f"turno-{name}" for name in PROCESSES}


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_a_process_runs_what_the_compose_file_runs(name: str) -> None:
    (container,) = containers(PODS[name])
    told = COMPOSE[name].get("command")
    assert container.get("command") == (told and [str(word).replace("$$", "$") for word in told])
    assert container["image"] == "turno:local" == COMPOSE[name]["image"]


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_only_those_who_talk_to_the_cluster_have_a_token(name: str) -> None:
    pod = pod_of(PODS[name])
    (container,) = containers(PODS[name])
    told = {entry["name"] for entry in container.get("env", [])}
    assert pod["automountServiceAccountToken"] is (name in WITH_TOKEN)
    assert ("TURNO_CLUSTER_CONNECTIONS" in told) is (name in WITH_TOKEN)


@pytest.mark.parametrize("name", sorted(PROCESSES))
def test_pods_are_restricted_and_write_nowhere(name: str) -> None:
    pod = pod_of(PODS[name])
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(PODS[name]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]) == {"requests", "limits"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert all("hostPath" not in volume for volume in pod["volumes"])


def test_every_lasting_process_is_looked_after() -> None:
    probed = {name for name in PODS if any("livenessProbe" in one for one in containers(PODS[name]))}
    assert probed == PROCESSES - {"migrate"}
    assert "readinessProbe" in containers(PODS["web"])[0]
    assert set(of_kind("PodDisruptionBudget")) == {f"turno-{name}" for name in ("web", "worker", "watch", "logs")}
    assert {name: PODS[name]["spec"].get("replicas") for name in ("beat", "watch", "web")} == {
        "beat": 1,
        "watch": 2,
        "web": 2,
    }
    assert PODS["beat"]["spec"]["strategy"] == {"type": "Recreate"}


def test_no_secret_is_in_the_files() -> None:
    text = "".join(path.read_text() for path in FOLDER.glob("*.yaml"))
    assert of_kind("Secret") == {}
    assert re.search(r"://[^/\s]*:[^/\s]*@", text) is None
    settings = of_kind("ConfigMap")["turno-settings"]["data"]
    assert [name for name in settings if re.search("SECRET|DATABASE|BROKER", name) and not name.endswith("_FILE")] == []


def test_no_role_is_wider_than_words_can_say() -> None:
    for name in ROLES:
        granted = rules(name)
        assert not any("*" in part for rule in granted for part in rule), name
        assert not {verb for _, _, verb in granted} & {"escalate", "impersonate", "deletecollection", "update"}, name
        assert not {resource for _, resource, _ in granted} & {"pods/exec", "pods/attach", "pods/portforward"}, name
    assert {name for name in ROLES if any(resource == "secrets" for _, resource, _ in rules(name))} == {
        "turno-tenant-worker"
    }


def test_only_two_named_roles_can_be_bound() -> None:
    binds = [rule for role in ROLES.values() for rule in role["rules"] if "bind" in rule["verbs"]]
    assert [rule["resourceNames"] for rule in binds] == [[f"turno-{role}" for role, _ in BOUND_ROLES]]
    bound = {one["roleRef"]["name"]: one["subjects"] for one in of_kind("ClusterRoleBinding").values()}
    assert set(bound) == {"turno-worker", "turno-watch"}
    assert {account for _, account in BOUND_ROLES} <= PROCESSES


def test_the_watcher_may_read_exactly_what_it_mirrors_and_write_nothing() -> None:
    def group(kind: str) -> str:
        version = RESOURCES[kind].api_version
        return version.rpartition("/")[0]

    read = {(group(kind), RESOURCES[kind].plural, verb) for kind in MIRRORED for verb in ("list", "watch")}
    asked = {
        ("kueue.x-k8s.io", "clusterqueues", "get"),
        ("visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads", "get"),
    }
    assert rules("turno-watch") == read | asked


def test_nothing_is_open_but_web() -> None:
    policies = of_kind("NetworkPolicy")
    assert policies["default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    entered = {name for name, one in policies.items() if one["spec"].get("ingress")}
    assert entered == {"web"}
    (door,) = policies["api-server"]["spec"]["podSelector"]["matchExpressions"]
    assert set(door["values"]) == WITH_TOKEN
