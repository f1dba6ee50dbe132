"""Services, routes, network rules and key Secrets around a workload's pods. All workload-owned."""

from __future__ import annotations

from typing import Any

from jobs.manifests.plan import JsonObject, RunPlan

HTTP_PORT = 80


def service(plan: RunPlan, *, port: int) -> JsonObject:
    """A stable address in front of the ready pods."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": plan.owned(plan.stem),
        "spec": {
            "selector": plan.selector,
            "ports": [{"name": "http", "port": HTTP_PORT, "targetPort": port, "protocol": "TCP"}],
        },
    }


def headless_service(plan: RunPlan, *, port: int) -> JsonObject:
    """Names for the pods of one workload, also before they are ready: rendezvous comes first."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": plan.owned(plan.stem),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": plan.selector,
            "ports": [{"name": "rendezvous", "port": port, "targetPort": port, "protocol": "TCP"}],
        },
    }


def between_pods(plan: RunPlan) -> JsonObject:
    """Pods of one workload reach each other; the team's default denies everything else between pods."""
    peers = [{"podSelector": {"matchLabels": plan.selector}}]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": plan.owned(plan.stem),
        "spec": {
            "podSelector": {"matchLabels": plan.selector},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"from": peers}],
            "egress": [{"to": peers}],
        },
    }


def key_secret(plan: RunPlan, entry: str) -> JsonObject:
    """The derived token as a marker; the worker fills it when it applies the Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": plan.owned(plan.stem),
        "data": {entry: plan.derived.marker},
    }


def route(plan: RunPlan, *, hostname: str, path: str, filters: list[dict[str, Any]]) -> JsonObject:
    """From the cluster's gateway to the Service, below one host (may be "") and one path."""
    rule: JsonObject = {
        "matches": [{"path": {"type": "PathPrefix", "value": path}}],
        "backendRefs": [{"kind": "Service", "name": plan.stem, "port": HTTP_PORT}],
    }
    if filters:
        rule["filters"] = filters
    parent = {
        "group": "gateway.networking.k8s.io",
        "kind": "Gateway",
        "name": plan.cluster.gateway_name,
        "namespace": plan.cluster.gateway_namespace,
    }
    spec: JsonObject = {"parentRefs": [parent], "rules": [rule]}
    if hostname:
        spec["hostnames"] = [hostname]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": plan.owned(plan.stem),
        "spec": spec,
    }
