"""What each variant becomes, whole: a change of a builder is a change here, and raises the builders' revision."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.manifests.catalogue import BUILDERS, BUILDERS_REVISION, VARIANTS, render, why_not
from tests.cluster.schemas import crd_faults, round_trip
from tests.jobs.plans import LABELS, NO_GPU, made, plan

MODELS = {
    "Job": "V1Job",
    "Service": "V1Service",
    "Secret": "V1Secret",
    "StatefulSet": "V1StatefulSet",
    "Deployment": "V1Deployment",
    "PersistentVolumeClaim": "V1PersistentVolumeClaim",
    "NetworkPolicy": "V1NetworkPolicy",
}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "notebook/jupyterlab": ("notebook", {"env": {"A": "$x"}, "labels": {"cost": "a"}, "project": "p1"}),
    "training/job": ("training", {"max_duration": 60, "grace_period": 5, "env": {"A": "1"}}),
    "training/indexed": ("training", {"framework": "indexed", "nodes": 3, "min_nodes": 2, "project": "p1"}),
    "endpoint/vllm-plain": ("endpoint", {"gpus": 2, "args": ["--dtype", "auto"]}),
}
RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "fsGroup": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
NODES = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
QUEUED = {"kueue.x-k8s.io/queue-name": "data", "kueue.x-k8s.io/priority-class": "turno-normal", "turno.dev/run": "1"}
SHM = {"name": "shm", "emptyDir": {"medium": "Memory"}}
GATEWAY = {
    "group": "gateway.networking.k8s.io",
    "kind": "Gateway",
    "name": "turno",
    "namespace": "turno-gateway",
}


def amounts(gpus: str = "1") -> dict[str, dict[str, str]]:
    each = {"cpu": "2", "memory": "8Gi", "nvidia.com/mig-1g.10gb": gpus}
    return {"requests": each, "limits": each}


def owned(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {"name": name, "namespace": "turno-data", "labels": labels}


def test_a_training_job() -> None:
    labels = {**LABELS, "turno.dev/kind": "training"}
    found = made("training", max_duration=60, grace_period=5, env={"A": "it's $(x) $HOME"}, args=["--a=$B", ""])
    assert found == {
        "Job": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": owned(
                "train-000000abcd-r1", {**labels, **QUEUED, "kueue.x-k8s.io/max-exec-time-seconds": "60"}
            ),
            "spec": {
                "suspend": True,
                "backoffLimit": 0,
                "template": {
                    "metadata": {"labels": {**labels, "turno.dev/run": "1"}},
                    "spec": {
                        "serviceAccountName": "workload",
                        "automountServiceAccountToken": False,
                        "enableServiceLinks": False,
                        "securityContext": POD_SECURITY,
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 5,
                        "nodeSelector": NODES,
                        "volumes": [SHM],
                        "containers": [
                            {
                                "name": "main",
                                "image": "registry.turno.example/x:1",
                                "command": ["python", "train.py"],
                                "args": ["--a=$$B", ""],
                                "env": [
                                    {"name": "HOME", "value": "/home/user"},
                                    {"name": "A", "value": "it's $$(x) $$HOME"},
                                ],
                                "resources": amounts(),
                                "securityContext": RESTRICTED,
                                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
                            }
                        ],
                    },
                },
            },
        }
    }


def test_an_indexed_job() -> None:
    labels = {**LABELS, "turno.dev/kind": "training", "turno.dev/project": "p1"}
    found = made("training", framework="indexed", nodes=3, min_nodes=2, project="p1")
    selector = {"turno.dev/workload": LABELS["turno.dev/workload"]}
    peers = [{"podSelector": {"matchLabels": selector}}]
    assert list(found) == ["Service", "NetworkPolicy", "Job"]
    assert found["Service"] == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": owned("train-000000abcd", labels),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector,
            "ports": [{"name": "rendezvous", "port": 29500, "targetPort": 29500, "protocol": "TCP"}],
        },
    }
    assert found["NetworkPolicy"] == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": owned("train-000000abcd", labels),
        "spec": {
            "podSelector": {"matchLabels": selector},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": peers}],
            "egress": [{"to": peers}],
        },
    }
    job = found["Job"]
    assert job["metadata"]["annotations"] == {"kueue.x-k8s.io/job-min-parallelism": "2"}
    shape = {name: value for name, value in job["spec"].items() if name != "template"}
    assert shape == {
        "suspend": True,
        "backoffLimit": 0,
        "completionMode": "Indexed",
        "completions": 3,
        "parallelism": 3,
    }
    pod = job["spec"]["template"]["spec"]
    assert pod["subdomain"] == "train-000000abcd"
    first = "train-000000abcd-r1-0.train-000000abcd.turno-data.svc"
    index = {
        "fieldRef": {
            "apiVersion": "v1",
            "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']",
        }
    }
    assert {one["name"]: one.get("value", one.get("valueFrom")) for one in pod["containers"][0]["env"]} == {
        "HOME": "/home/user",
        "MASTER_ADDR": first,
        "MASTER_PORT": "29500",
        "NNODES": "3",
        "WORLD_SIZE": "3",
        "PET_MASTER_ADDR": first,
        "PET_MASTER_PORT": "29500",
        "PET_NNODES": "2:3",
        "PET_NPROC_PER_NODE": "1",
        "NODE_RANK": index,
        "PET_NODE_RANK": index,
    }


def test_a_notebook() -> None:
    labels = {**LABELS, "turno.dev/kind": "notebook"}
    found = made("notebook", labels={"cost": "a"})
    stem, mine = "lab-000000abcd", {"cost": "a", **labels}
    assert list(found) == ["Secret", "PersistentVolumeClaim", "Service", "HTTPRoute", "StatefulSet"]
    assert found["Secret"] == {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": owned(stem, mine),
        "data": {"token": "turno.dev/derived:notebook:k1:1"},
    }
    assert found["PersistentVolumeClaim"] == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": owned(f"{stem}-home", mine),
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    }
    assert found["HTTPRoute"] == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": owned(stem, mine),
        "spec": {
            "parentRefs": [GATEWAY],
            "hostnames": [f"{stem}.localhost"],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                    "backendRefs": [{"kind": "Service", "name": stem, "port": 80}],
                    "filters": [
                        {
                            "type": "ExtensionRef",
                            "extensionRef": {"group": "gateway.example.io", "kind": "ExtAuth", "name": "turno"},
                        }
                    ],
                }
            ],
        },
    }
    stateful = found["StatefulSet"]
    assert stateful["metadata"] == owned(f"{stem}-r1", {**mine, **QUEUED})
    chosen = {"turno.dev/workload": LABELS["turno.dev/workload"], "turno.dev/run": "1"}
    assert {name: value for name, value in stateful["spec"].items() if name != "template"} == {
        "replicas": 1,
        "serviceName": stem,
        "selector": {"matchLabels": chosen},
    }
    pod = stateful["spec"]["template"]["spec"]
    assert pod["volumes"][0] == {"name": "home", "persistentVolumeClaim": {"claimName": f"{stem}-home"}}
    server = pod["containers"][0]
    assert server["command"] == ["jupyter", "lab"]
    assert server["readinessProbe"]["httpGet"] == {"path": "/api", "port": 8888}
    token = {"secretKeyRef": {"name": stem, "key": "token"}}
    assert {"name": "JUPYTER_TOKEN", "valueFrom": token} in server["env"]


def test_an_endpoint() -> None:
    found = made("endpoint", gpus=2, args=["--dtype", "auto"])
    assert list(found) == ["Secret", "Service", "HTTPRoute", "Deployment"]
    assert found["Secret"]["data"] == {"key": "turno.dev/derived:endpoint:k1:1"}
    rule = found["HTTPRoute"]["spec"]["rules"][0]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": f"/e/{LABELS['turno.dev/workload']}"}}]
    assert rule["filters"] == [
        {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}}}
    ]
    assert "hostnames" not in found["HTTPRoute"]["spec"]
    spec = found["Deployment"]["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    server = spec["template"]["spec"]["containers"][0]
    assert server["command"] == ["vllm", "serve"]
    assert server["args"] == [
        "Qwen/Qwen3-0.6B",
        "--port",
        "8000",
        "--tensor-parallel-size",
        "2",
        "--dtype",
        "auto",
    ]
    assert server["resources"] == amounts("2")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert server[probe]["httpGet"] == {"path": "/health", "port": 8000}


@pytest.mark.parametrize("variant", BUILDERS)
@pytest.mark.parametrize("flavor", ["gpu", "cpu"])
def test_the_api_server_takes_every_object_as_it_is(variant: str, flavor: str) -> None:
    kind, changes = REQUESTS[variant]
    if flavor == "cpu":
        changes = {**changes, "flavor": "cpu", "gpus": 0, "on": NO_GPU}
    for one in render(plan(kind, **changes)):
        manifest = one.manifest
        if manifest["kind"] == "HTTPRoute":
            assert crd_faults(manifest) == []
        else:
            assert round_trip(manifest, MODELS[manifest["kind"]]) == manifest


def test_the_catalogue_has_a_word_for_every_variant_of_the_contract() -> None:
    assert set(BUILDERS) <= set(VARIANTS)
    assert {name for name, why in VARIANTS.items() if not why} == set(BUILDERS)
    assert why_not("notebook/jupyterlab", has_auth_filter=False)
    assert not why_not("endpoint/vllm-plain", has_auth_filter=False)
    assert BUILDERS_REVISION == 1
