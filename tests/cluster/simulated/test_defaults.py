"""What a new object looks like: whole objects, and that applying the same again moves nothing."""

from __future__ import annotations

from typing import Any

import pytest

from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.conftest import Asker

W1 = "namespaces/w1"
CORE, APPS, NET = f"/api/v1/{W1}", f"/apis/apps/v1/{W1}", f"/apis/networking.k8s.io/v1/{W1}"
RBAC, KUEUE = f"/apis/rbac.authorization.k8s.io/v1/{W1}", "/apis/kueue.x-k8s.io/v1beta2"
ROUTES = f"/apis/gateway.networking.k8s.io/v1/{W1}/httproutes"
POD: Obj = {"containers": [{"name": "main", "image": "registry.example/x:1"}]}
FILLED_POD: Obj = {
    "containers": [
        {
            "name": "main",
            "image": "registry.example/x:1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ],
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
}
TEMPLATE: Obj = {"metadata": {"labels": {"a": "b"}}, "spec": POD}
SELECTOR: Obj = {"matchLabels": {"a": "b"}}

CASES: dict[str, tuple[str, Obj, Obj]] = {
    "service": (
        f"{CORE}/services",
        {"spec": {"selector": {"a": "b"}, "clusterIP": "None", "ports": [{"port": 80, "name": "http"}]}},
        {
            "spec": {
                "selector": {"a": "b"},
                "clusterIP": "None",
                "clusterIPs": ["None"],
                "ports": [{"port": 80, "name": "http", "protocol": "TCP", "targetPort": 80}],
                "type": "ClusterIP",
                "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    "claim": (
        f"{CORE}/persistentvolumeclaims",
        {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}},
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Pending"},
        },
    ),
    "secret": (
        f"{CORE}/secrets",
        {"stringData": {"token": "abc"}, "data": {"other": "eA=="}},
        {"type": "Opaque", "data": {"token": "YWJj", "other": "eA=="}},
    ),
    "stateful set": (
        f"{APPS}/statefulsets",
        {"spec": {"serviceName": "s", "selector": SELECTOR, "template": TEMPLATE}},
        {
            "spec": {
                "replicas": 1,
                "serviceName": "s",
                "selector": SELECTOR,
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": FILLED_POD},
                "podManagementPolicy": "OrderedReady",
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            },
            "status": {"replicas": 0, "availableReplicas": 0},
        },
    ),
    "deployment": (
        f"{APPS}/deployments",
        {
            "spec": {
                "replicas": 2,
                "selector": SELECTOR,
                "template": TEMPLATE,
                "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            }
        },
        {
            "spec": {
                "replicas": 2,
                "selector": SELECTOR,
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": FILLED_POD},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
                "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
            },
            "status": {},
        },
    ),
    "network policy": (
        f"{NET}/networkpolicies",
        {"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 443}]}]}},
        {
            "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress", "Egress"],
                "egress": [{"ports": [{"port": 53, "protocol": "UDP"}, {"port": 443, "protocol": "TCP"}]}],
            }
        },
    ),
    "role binding": (
        f"{RBAC}/rolebindings",
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "w1"}, {"kind": "User", "name": "u"}],
        },
        {
            "roleRef": {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
            "subjects": [
                {"kind": "ServiceAccount", "name": "a", "namespace": "w1"},
                {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
            ],
        },
    ),
    "limit range": (
        f"{CORE}/limitranges",
        {"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "4", "memory": "8Gi"}}]}},
        {
            "spec": {
                "limits": [
                    {
                        "type": "Container",
                        "default": {"cpu": "1", "memory": "8Gi"},
                        "defaultRequest": {"cpu": "1", "memory": "8Gi"},
                        "max": {"cpu": "4", "memory": "8Gi"},
                    }
                ]
            }
        },
    ),
    "route": (
        ROUTES,
        {"spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "s", "port": 80}]}]}},
        {
            "spec": {
                "parentRefs": [{"name": "gw", "group": "gateway.networking.k8s.io", "kind": "Gateway"}],
                "rules": [
                    {
                        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
                        "backendRefs": [{"name": "s", "port": 80, "group": "", "kind": "Service", "weight": 1}],
                    }
                ],
            }
        },
    ),
    "cohort": (f"{KUEUE}/cohorts", {"spec": {"fairSharing": {}}}, {"spec": {"fairSharing": {"weight": 1}}}),
    "local queue": (
        f"{KUEUE}/{W1}/localqueues",
        {"spec": {"clusterQueue": "q"}},
        {"spec": {"clusterQueue": "q", "stopPolicy": "None"}},
    ),
    "priority": (f"{KUEUE}/workloadpriorityclasses", {"value": 10}, {"value": 10}),
}


def content(obj: Obj) -> Obj:
    return {name: value for name, value in obj.items() if name not in ("metadata", "kind", "apiVersion")}


@pytest.mark.parametrize("case", CASES)
def test_new_object(ask: Asker, case: str) -> None:
    path, given, expected = CASES[case]

    made = ask("POST", path, {"metadata": {"name": "x"}, **given})

    assert made.status == 201, made.body
    assert content(made.body) == expected


@pytest.mark.parametrize("case", [case for case in CASES if case != "secret"])
def test_applying_again_moves_nothing(ask: Asker, case: str) -> None:
    path, given, _ = CASES[case]
    first = ask.apply(f"{path}/x", {"metadata": {"name": "x"}, **given})
    assert first.status == 201, first.body

    again = ask.apply(f"{path}/x", {"metadata": {"name": "x"}, **given})

    assert (again.status, again.body) == (200, first.body)


@pytest.mark.parametrize("case", CASES)
def test_reading_and_writing_back_moves_nothing(ask: Asker, case: str) -> None:
    path, given, _ = CASES[case]
    made = ask("POST", path, {"metadata": {"name": "x"}, **given}).body

    assert ask("PUT", f"{path}/x", made).body == made


def test_generations_count_what_is_wanted(ask: Asker) -> None:
    path, given, _ = CASES["deployment"]
    made = ask("POST", path, {"metadata": {"name": "x"}, **given}).body
    assert made["metadata"]["generation"] == 1

    labelled = ask.merge(f"{path}/x", {"metadata": {"labels": {"a": "b"}}}).body
    assert labelled["metadata"]["generation"] == 1
    scaled = ask.merge(f"{path}/x", {"spec": {"replicas": 0}}).body
    assert scaled["metadata"]["generation"] == 2
    assert "generation" not in ask.config_map("c").body["metadata"]


def test_probes_ports_and_references_of_a_container(ask: Asker) -> None:
    container: dict[str, Any] = {
        "name": "main",
        "image": "x",
        "ports": [{"containerPort": 8888}],
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"httpGet": {"port": 8888}, "periodSeconds": 5},
    }
    volumes = [{"name": "v"}, {"name": "c", "configMap": {"name": "m"}}]
    spec = {"containers": [container], "volumes": volumes, "automountServiceAccountToken": False}

    made = ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec}).body["spec"]

    filled = made["containers"][0]
    assert filled["imagePullPolicy"] == "Always"
    assert filled["ports"] == [{"containerPort": 8888, "protocol": "TCP"}]
    assert filled["env"][0]["valueFrom"]["fieldRef"] == {"fieldPath": "status.podIP", "apiVersion": "v1"}
    assert filled["readinessProbe"] == {
        "httpGet": {"port": 8888, "path": "/", "scheme": "HTTP"},
        "periodSeconds": 5,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert made["volumes"] == [
        {"name": "v", "emptyDir": {}},
        {"name": "c", "configMap": {"name": "m", "defaultMode": 420}},
    ]
    assert "volumeMounts" not in filled


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_quality_of_service(ask: Asker, resources: Obj, quality: str) -> None:
    spec = {"containers": [{"name": "main", "image": "x:1", "resources": resources}]}

    made = ask("POST", "pods", {"metadata": {"name": "p"}, "spec": spec})

    assert made.body["status"]["qosClass"] == quality


def test_new_namespace_is_furnished(ask: Asker) -> None:
    ask("POST", "/api/v1/namespaces", {"metadata": {"name": "new"}})

    accounts = ask("GET", "/api/v1/namespaces/new/serviceaccounts").body["items"]
    maps = ask("GET", "/api/v1/namespaces/new/configmaps").body["items"]
    assert [each["metadata"]["name"] for each in (*accounts, *maps)] == ["default", "kube-root-ca.crt"]
