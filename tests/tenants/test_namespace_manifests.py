"""A team's namespace as objects, whole; and equal to themselves after a trip through the client's models."""

from __future__ import annotations

import ipaddress
from typing import Any
from uuid import UUID

import pytest

from tenants.manifests import LIMITS_OF_OBJECTS, NOT_INTERNET, SpaceSpec, space
from tests.cluster.schemas import round_trip

LABELS = {
    "app.kubernetes.io/managed-by": "turno",
    "turno.dev/instance": "lab",
    "turno.dev/tenant": "vision",
    "turno.dev/object": "tenantspace.01890000-0000-7000-8000-000000000001",
}
MODELS = {
    "Namespace": "V1Namespace",
    "ServiceAccount": "V1ServiceAccount",
    "RoleBinding": "V1RoleBinding",
    "NetworkPolicy": "V1NetworkPolicy",
    "ResourceQuota": "V1ResourceQuota",
    "LimitRange": "V1LimitRange",
}


def spec(**fields: Any) -> SpaceSpec:
    values: dict[str, Any] = {
        "space_id": UUID("01890000-0000-7000-8000-000000000001"),
        "tenant": "vision",
        "namespace": "turno-vision",
        "instance": "lab",
        "prefix": "turno-",
        "portal_namespace": "turno",
        "ingress_namespaces": ("turno-gateway", "monitoring"),
        "dns_cidrs": ("169.254.20.10/32",),
        "api_server_cidrs": ("203.0.113.7/32", "2001:db8::7/128"),
    }
    return SpaceSpec(**{**values, **fields})


def made(**fields: Any) -> dict[str, dict[str, Any]]:
    return {f"{obj['kind']}/{obj['metadata']['name']}": obj for obj in space(spec(**fields))}


def test_the_objects_in_their_order() -> None:
    assert list(made()) == [
        "Namespace/turno-vision",
        "RoleBinding/turno-tenant-worker",
        "RoleBinding/turno-tenant-logs",
        "ServiceAccount/workload",
        "NetworkPolicy/default-deny",
        "NetworkPolicy/allow-dns",
        "NetworkPolicy/allow-platform",
        "NetworkPolicy/allow-egress",
        "ResourceQuota/objects",
        "LimitRange/defaults",
    ]


def test_every_object_leads_back_to_its_row_and_lies_in_the_namespace() -> None:
    namespace, *inside = space(spec())
    assert namespace["metadata"]["labels"].items() >= LABELS.items()
    for obj in inside:
        assert obj["metadata"]["namespace"] == "turno-vision"
        assert obj["metadata"]["labels"] == LABELS


def test_the_namespace_enforces_the_restricted_standard() -> None:
    assert made()["Namespace/turno-vision"] == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": "turno-vision",
            "labels": {
                **LABELS,
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/enforce-version": "latest",
                "pod-security.kubernetes.io/audit": "restricted",
                "pod-security.kubernetes.io/audit-version": "latest",
                "pod-security.kubernetes.io/warn": "restricted",
                "pod-security.kubernetes.io/warn-version": "latest",
            },
        },
    }


def test_the_account_carries_no_token() -> None:
    assert made()["ServiceAccount/workload"]["automountServiceAccountToken"] is False


def test_turnos_own_processes_get_their_named_roles_here_only() -> None:
    assert made()["RoleBinding/turno-tenant-worker"] == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "turno-tenant-worker", "namespace": "turno-vision", "labels": LABELS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "turno-tenant-worker"},
        "subjects": [{"kind": "ServiceAccount", "name": "turno-worker", "namespace": "turno"}],
    }
    logs = made()["RoleBinding/turno-tenant-logs"]
    assert logs["roleRef"]["name"] == "turno-tenant-logs"
    assert logs["subjects"] == [{"kind": "ServiceAccount", "name": "turno-logs", "namespace": "turno"}]


def test_the_network_is_closed_but_for_dns_and_the_platform() -> None:
    objects = made()
    assert objects["NetworkPolicy/default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert objects["NetworkPolicy/allow-dns"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Egress"],
        "egress": [
            {
                "to": [
                    {
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                    },
                    {"ipBlock": {"cidr": "169.254.20.10/32"}},
                ],
                "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
            }
        ],
    }
    assert objects["NetworkPolicy/allow-platform"]["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [
            {
                "from": [
                    {
                        "namespaceSelector": {
                            "matchExpressions": [
                                {
                                    "key": "kubernetes.io/metadata.name",
                                    "operator": "In",
                                    "values": ["monitoring", "turno-gateway"],
                                }
                            ]
                        }
                    }
                ]
            }
        ],
    }


def test_without_platform_namespaces_nothing_comes_in() -> None:
    policy = made(ingress_namespaces=())["NetworkPolicy/allow-platform"]["spec"]
    assert policy == {"podSelector": {}, "policyTypes": ["Ingress"]}


def test_no_way_out_is_an_empty_policy_not_a_missing_one() -> None:
    policy = made(egress="none")["NetworkPolicy/allow-egress"]["spec"]
    assert policy == {"podSelector": {}, "policyTypes": ["Egress"]}


@pytest.mark.parametrize(
    "address",
    ["10.1.2.3", "172.20.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "127.0.0.1", "203.0.113.7", "::1",
     "fd00::1", "fe80::1", "2001:db8::7", "64:ff9b::a01:203"],
)  # fmt: skip
def test_the_way_out_does_not_lead_back_inside(address: str) -> None:
    assert not reaches(made()["NetworkPolicy/allow-egress"], address)


@pytest.mark.parametrize("address", ["8.8.8.8", "151.101.0.1", "2606:4700::1111"])
def test_the_way_out_leads_to_the_internet(address: str) -> None:
    assert reaches(made()["NetworkPolicy/allow-egress"], address)


def reaches(policy: dict[str, Any], text: str) -> bool:
    address = ipaddress.ip_address(text)
    for rule in policy["spec"]["egress"]:
        for peer in rule["to"]:
            block = peer["ipBlock"]
            inside = address in ipaddress.ip_network(block["cidr"])
            if inside and not any(address in ipaddress.ip_network(closed) for closed in block["except"]):
                return True
    return False


def test_every_exception_lies_within_its_block() -> None:
    for peer in made()["NetworkPolicy/allow-egress"]["spec"]["egress"][0]["to"]:
        block = ipaddress.ip_network(peer["ipBlock"]["cidr"])
        for closed in peer["ipBlock"]["except"]:
            assert ipaddress.ip_network(closed).version == block.version
    assert len(NOT_INTERNET) == len(set(NOT_INTERNET))


def test_storage_and_numbers_of_objects_are_limited_and_nothing_that_kueue_hands_out() -> None:
    hard = made()["ResourceQuota/objects"]["spec"]["hard"]
    assert hard == LIMITS_OF_OBJECTS
    assert not [key for key in hard if key == "pods" or "cpu" in key or "memory" in key or "gpu" in key]


@pytest.mark.parametrize("key", list(made()))
def test_the_clients_models_take_each_object_and_give_it_back(key: str) -> None:
    obj = made()[key]
    assert round_trip(obj, MODELS[obj["kind"]]) == obj
