"""Quota rows as Kueue's objects, whole, and as Kueue's own schemas take them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from quotas import manifests
from quotas.arithmetic import Share
from quotas.manifests import Cell, Place, QueueSpec
from tests.cluster.schemas import crd_faults

ROW = UUID("01890000-0000-7000-8000-000000000001")
API = "kueue.x-k8s.io/v1beta2"


def place(kind: str) -> Place:
    return Place("turno-", "lab", kind, ROW)


def labels(kind: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": "turno",
        "turno.dev/instance": "lab",
        "turno.dev/object": f"{kind}.01890000-0000-7000-8000-000000000001",
    }


def queue_spec(**fields: Any) -> QueueSpec:
    cells = [
        Cell("turno-h100", "nvidia.com/gpu", Share(2, borrowing_limit=1, lending_limit=0)),
        Cell("turno-h100-1g", "nvidia.com/mig-1g.10gb", Share(4)),
    ]
    values: dict[str, Any] = {
        "tenant": "vision",
        "namespace": "turno-vision",
        "cohort": "lab",
        "cells": cells,
        "cpu": "1000",
        "memory": "4Ti",
    }
    return QueueSpec(**{**values, **fields})


def test_a_flavor_becomes_a_resource_flavor() -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    made = manifests.resource_flavor(
        place("flavor"),
        manifests.flavor_name("turno-", "h100", "whole"),
        node_labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        tolerations=[toleration],
    )
    assert made == {
        "apiVersion": API,
        "kind": "ResourceFlavor",
        "metadata": {"name": "turno-h100", "labels": labels("flavor")},
        "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}, "tolerations": [toleration]},
    }


def test_all_cpu_is_of_one_flavor_that_fits_any_node() -> None:
    name = manifests.flavor_name("turno-", "cpu-north", "none")
    made = manifests.resource_flavor(place("flavor"), name, node_labels={}, tolerations=[])
    assert (made["metadata"]["name"], made["spec"]) == ("turno-cpu", {})


def test_a_cohort_may_hang_below_another() -> None:
    made = manifests.cohort(place("cohort"), "lab", parent="campus")
    assert made == {
        "apiVersion": API,
        "kind": "Cohort",
        "metadata": {"name": "turno-lab", "labels": labels("cohort")},
        "spec": {"parentName": "turno-campus"},
    }
    assert manifests.cohort(place("cohort"), "lab", parent=None)["spec"] == {}


def test_a_priority_becomes_kueues_own_class() -> None:
    made = manifests.priority_class(place("priority"), "high", value=1000, description="Deadlines")
    assert made == {
        "apiVersion": API,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "turno-high", "labels": labels("priority")},
        "value": 1000,
        "description": "Deadlines",
    }


def test_a_team_becomes_a_cluster_queue_and_a_local_queue() -> None:
    cluster_queue, local_queue = manifests.queue(place("queue"), queue_spec())
    assert cluster_queue == {
        "apiVersion": API,
        "kind": "ClusterQueue",
        "metadata": {"name": "turno-vision", "labels": {**labels("queue"), "turno.dev/tenant": "vision"}},
        "spec": {
            "cohortName": "turno-lab",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "turno-vision"}},
            "queueingStrategy": "BestEffortFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb"],
                    "flavors": [
                        {
                            "name": "turno-h100",
                            "resources": [
                                {
                                    "name": "nvidia.com/gpu",
                                    "nominalQuota": "2",
                                    "borrowingLimit": "1",
                                    "lendingLimit": "0",
                                },
                                {"name": "nvidia.com/mig-1g.10gb", "nominalQuota": "0"},
                            ],
                        },
                        {
                            "name": "turno-h100-1g",
                            "resources": [
                                {"name": "nvidia.com/gpu", "nominalQuota": "0"},
                                {"name": "nvidia.com/mig-1g.10gb", "nominalQuota": "4"},
                            ],
                        },
                    ],
                },
                {
                    "coveredResources": ["cpu", "memory"],
                    "flavors": [
                        {
                            "name": "turno-cpu",
                            "resources": [
                                {"name": "cpu", "nominalQuota": "1000"},
                                {"name": "memory", "nominalQuota": "4Ti"},
                            ],
                        }
                    ],
                },
            ],
        },
    }
    assert local_queue == {
        "apiVersion": API,
        "kind": "LocalQueue",
        "metadata": {
            "name": "vision",
            "namespace": "turno-vision",
            "labels": {**labels("queue"), "turno.dev/tenant": "vision"},
        },
        "spec": {"clusterQueue": "turno-vision", "stopPolicy": "None"},
    }


def test_limits_are_left_out_where_there_is_no_cohort() -> None:
    cluster_queue, _ = manifests.queue(place("queue"), queue_spec(cohort=""))
    assert "cohortName" not in cluster_queue["spec"]
    cells = [cell for flavor in cluster_queue["spec"]["resourceGroups"][0]["flavors"] for cell in flavor["resources"]]
    assert all(cell.keys() == {"name", "nominalQuota"} for cell in cells)


def test_a_team_without_gpu_quota_has_cpu_and_memory_only() -> None:
    cluster_queue, _ = manifests.queue(place("queue"), queue_spec(cells=[]))
    groups = cluster_queue["spec"]["resourceGroups"]
    assert [group["coveredResources"] for group in groups] == [["cpu", "memory"]]


def test_a_team_on_hold_admits_nothing_new() -> None:
    _, local_queue = manifests.queue(place("queue"), queue_spec(hold=True))
    assert local_queue["spec"]["stopPolicy"] == "Hold"


@pytest.mark.parametrize(
    "made",
    [
        *manifests.queue(place("queue"), queue_spec()),
        *manifests.queue(place("queue"), queue_spec(cohort="", cells=[], hold=True)),
        manifests.cohort(place("cohort"), "lab", parent="campus"),
        manifests.priority_class(place("priority"), "high", value=1000, description=""),
        manifests.resource_flavor(
            place("flavor"), "turno-x", node_labels={"a": "b"}, tolerations=[{"key": "a", "operator": "Exists"}]
        ),
    ],
    ids=lambda made: f"{made['kind']}-{made['metadata']['name']}",
)
def test_kueues_own_schemas_take_each_object(made: dict[str, Any]) -> None:
    assert crd_faults(made) == []


def test_the_schemas_refuse_what_kueue_does_not_know() -> None:
    made, _ = manifests.queue(place("queue"), queue_spec())
    made["spec"]["cohort"] = "lab"
    assert crd_faults(made) == ["$.spec: Additional properties are not allowed ('cohort' was unexpected)"]
