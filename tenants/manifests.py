"""A team's namespace on one cluster, as Kubernetes objects. Pure: whole dicts, in the order in which they must exist.

Within it: the restricted pod security standard, an account without a token, what Turno's own processes may do, a
default-deny network with few ways in and out, and limits on storage and numbers of objects. GPU, CPU, memory and pods
are Kueue's business: a ResourceQuota on those would stop a team from borrowing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from portal.cluster import names
from portal.cluster.port import RBAC

Manifest = dict[str, Any]

SERVICE_ACCOUNT = "workload"
NETWORKING = "networking.k8s.io/v1"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
# ClusterRoles that the deployment ships, and the processes' accounts that get them inside a team's namespace.
BOUND_ROLES = (("tenant-worker", "worker"), ("tenant-logs", "logs"))
# Not the internet: this network, private, carrier-grade, loopback, link-local, multicast and reserved ranges.
NOT_INTERNET = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/127",
    "64:ff9b::/96",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
)
LIMITS_OF_OBJECTS = {
    "requests.storage": "20Ti",
    "persistentvolumeclaims": "500",
    "count/services": "5k",
    "count/secrets": "5k",
    "count/configmaps": "5k",
    "services.nodeports": "0",
    "services.loadbalancers": "0",
}


@dataclass(frozen=True)
class SpaceSpec:
    """All that a team's namespace is made from. CIDRs are texts; `egress` is `internet` or `none`.

    `portal_namespace` is where Turno's own processes run, `ingress_namespaces` those that may reach any pod (gateway,
    monitoring, operators).
    """

    space_id: UUID
    tenant: str
    namespace: str
    instance: str
    prefix: str
    portal_namespace: str
    egress: str = "internet"
    ingress_namespaces: Sequence[str] = ()
    dns_cidrs: Sequence[str] = ()
    api_server_cidrs: Sequence[str] = ()

    def labels(self) -> dict[str, str]:
        return {
            **names.tenant_labels(self.instance, self.tenant),
            **names.object_label("tenantspace", self.space_id),
        }


def space(spec: SpaceSpec) -> list[Manifest]:
    """Everything, the namespace first, then what gives Turno's own processes their rights in it."""
    return [
        _namespace(spec),
        *(_role_binding(spec, role, account) for role, account in BOUND_ROLES),
        _service_account(spec),
        *_network_policies(spec),
        _resource_quota(spec),
        _limit_range(spec),
    ]


def _namespace(spec: SpaceSpec) -> Manifest:
    security = {
        f"pod-security.kubernetes.io/{mode}{suffix}": value
        for mode in ("enforce", "audit", "warn")
        for suffix, value in (("", "restricted"), ("-version", "latest"))
    }
    metadata = {"name": spec.namespace, "labels": {**spec.labels(), **security}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _service_account(spec: SpaceSpec) -> Manifest:
    return _object(spec, "v1", "ServiceAccount", SERVICE_ACCOUNT, automountServiceAccountToken=False)


def _role_binding(spec: SpaceSpec, role: str, account: str) -> Manifest:
    """Lets one of Turno's processes do in this namespace what its named ClusterRole says, and nothing elsewhere."""
    name = names.prefixed(spec.prefix, role)
    subject = {
        "kind": "ServiceAccount",
        "name": names.prefixed(spec.prefix, account),
        "namespace": spec.portal_namespace,
    }
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    return _object(spec, RBAC, "RoleBinding", name, roleRef=ref, subjects=[subject])


def _network_policies(spec: SpaceSpec) -> list[Manifest]:
    return [
        _policy(spec, "default-deny", types=("Ingress", "Egress")),
        _policy(spec, "allow-dns", types=("Egress",), egress=[_dns(spec)]),
        _policy(spec, "allow-platform", types=("Ingress",), ingress=_from_namespaces(spec.ingress_namespaces)),
        _policy(spec, "allow-egress", types=("Egress",), egress=_internet(spec) if spec.egress == "internet" else []),
    ]


def _policy(spec: SpaceSpec, name: str, *, types: Iterable[str], **rules: Sequence[Mapping[str, Any]]) -> Manifest:
    """For every pod of the namespace. An empty list of rules lets nothing through."""
    filled = {direction: list(found) for direction, found in rules.items() if found}
    return _object(
        spec, NETWORKING, "NetworkPolicy", name, spec={"podSelector": {}, "policyTypes": list(types), **filled}
    )


def _dns(spec: SpaceSpec) -> dict[str, Any]:
    """The cluster's DNS, also where it listens node-locally at a link-local address."""
    cluster_dns: dict[str, Any] = {
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "kube-system"}},
        "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
    }
    node_local = [{"ipBlock": {"cidr": cidr}} for cidr in sorted(spec.dns_cidrs)]
    ports = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]
    return {"to": [cluster_dns, *node_local], "ports": ports}


def _from_namespaces(namespaces: Iterable[str]) -> list[dict[str, Any]]:
    known = sorted(set(namespaces))
    if not known:
        return []
    any_of = [{"key": NAMESPACE_NAME, "operator": "In", "values": known}]
    return [{"from": [{"namespaceSelector": {"matchExpressions": any_of}}]}]


def _internet(spec: SpaceSpec) -> list[dict[str, Any]]:
    """Every address but those that lead back inside: `except` has to lie within its block, so one block per family."""
    closed = [ipaddress.ip_network(cidr, strict=False) for cidr in (*NOT_INTERNET, *spec.api_server_cidrs)]
    blocks = []
    for version, everything in ((4, "0.0.0.0/0"), (6, "::/0")):
        of_family = {str(network) for network in closed if network.version == version}
        blocks.append({"ipBlock": {"cidr": everything, "except": sorted(of_family)}})
    return [{"to": blocks}]


def _resource_quota(spec: SpaceSpec) -> Manifest:
    return _object(spec, "v1", "ResourceQuota", "objects", spec={"hard": dict(LIMITS_OF_OBJECTS)})


def _limit_range(spec: SpaceSpec) -> Manifest:
    """For containers that say nothing themselves: a little, and as much at most as they ask."""
    little = {"cpu": "500m", "memory": "512Mi"}
    limits = [{"type": "Container", "default": dict(little), "defaultRequest": dict(little)}]
    return _object(spec, "v1", "LimitRange", "defaults", spec={"limits": limits})


def _object(of: SpaceSpec, api_version: str, kind: str, name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": of.namespace, "labels": of.labels()}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
