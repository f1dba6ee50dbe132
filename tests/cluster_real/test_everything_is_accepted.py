"""Every object that Turno builds is taken by the real API server: applied in a dry run with strict validation, in a
namespace that enforces the restricted standard, without a warning of any kind."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.manifests.catalogue import BUILDERS, render
from jobs.manifests.plan import ClusterPlan, FlavorPlan, ImagePlan
from jobs.manifests.secrets import filled
from portal.cluster.port import RESOURCES
from quotas import manifests as quotas
from quotas.arithmetic import Share
from tenants.manifests import SpaceSpec, space
from tests.cluster_real.conftest import INSTANCE, space_spec
from tests.contract.wire import Answer, Wire, collection
from tests.factories.jobs import AUTH_FILTER
from tests.jobs.plans import NO_GPU, plan

pytestmark = pytest.mark.cluster

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
CARD = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
MODES = {
    "whole": FlavorPlan("nvidia.com/gpu", CARD),
    "mig": FlavorPlan("nvidia.com/mig-1g.10gb", CARD),
    "shared": FlavorPlan("nvidia.com/gpu.shared", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED"}),
    "none": NO_GPU,
}
AWKWARD = {"A": "$HOME $(x) it's", "EMPTY": "", "LINES": "a\nb", "UNICODE": "añb"}
PLAIN: dict[str, Any] = {"env": AWKWARD, "labels": {"cost": "a.b_c"}, "project": "p1", "description": "línea"}
REQUESTS: dict[str, list[dict[str, Any]]] = {
    "notebook/jupyterlab": [{}, PLAIN, {"storage": "1Ti", "cpu": "0.5", "memory": "1.5Gi"}, {"max_duration": 3600}],
    "training/job": [
        {},
        PLAIN,
        {"max_duration": 60, "grace_period": 0, "retries": 3, "args": ["--a=$B", "", "ñ"]},
        {"grace_period": 600, "priority": "normal", "checkpoint_path": "/data/ckpt"},
    ],
    "training/indexed": [
        {"framework": "indexed", "nodes": 3},
        {"framework": "indexed", "nodes": 4, "min_nodes": 2, **PLAIN},
        {"framework": "indexed", "nodes": 1, "max_duration": 86400},
    ],
    "endpoint/vllm-plain": [
        {},
        PLAIN,
        {"gpus": 2, "args": ["--dtype", "auto"]},
        {"min_replicas": 2, "max_replicas": 2},
    ],
}
IMAGES = {
    "plain": ImagePlan("registry.turno.example/x:1"),
    "particular": ImagePlan(
        "registry.turno.example:5000/ml/x@sha256:" + "a" * 64,
        uid=2000,
        gid=100,
        home="/home/jovyan",
        command=("start.sh",),
        writable_paths=("/var/cache", "/opt/x"),
        env={"LANG": "C.UTF-8"},
    ),
}


def without_warning(answer: Answer) -> Answer:
    assert answer.status in {200, 201}, answer.text
    assert answer.warnings == []
    return answer


def cases() -> Iterator[Any]:
    for variant, requests in REQUESTS.items():
        for number, request in enumerate(requests):
            for mode, flavor in MODES.items():
                yield pytest.param(variant, request, flavor, id=f"{variant}-{number}-{mode}")


def test_every_builder_is_asked_here() -> None:
    assert set(REQUESTS) == set(BUILDERS)


def test_every_kind_that_turno_writes_is_served(served: frozenset[str]) -> None:
    absent = sorted(set(RESOURCES) - served)
    if absent and "TURNO_CLUSTER_FOLDER" not in os.environ:
        pytest.skip(f"this cluster does not serve {', '.join(absent)}: nothing is said about those")
    assert absent == []


@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize(("variant", "request_", "flavor"), list(cases()))
def test_every_object_of_a_run_is_accepted(
    wire: Wire,
    team: SpaceSpec,
    served: frozenset[str],
    variant: str,
    request_: dict[str, Any],
    flavor: FlavorPlan,
    image: str,
) -> None:
    changes = dict(request_)
    if not flavor.resource:
        changes |= {"flavor": "cpu", "gpus": 0}
    cluster = ClusterPlan(
        INSTANCE, "turno", "turno-gateway", "nb.example", "models.example", AUTH_FILTER, storage_class="disks"
    )
    made = plan(
        variant.partition("/")[0],
        on=flavor,
        namespace=team.namespace,
        cluster=cluster,
        image_plan=IMAGES[image],
        **changes,
    )
    for one in (each for each in render(made) if each.manifest["kind"] in served):
        sent = filled(one.manifest, made.workload_id, {"k1": "the server's key"})
        without_warning(wire.apply(sent, **STRICT))
        template = one.manifest.get("spec", {}).get("template")
        if template is not None:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "namespace": team.namespace}}
            pod["metadata"]["name"] = "p"
            without_warning(wire.create({**pod, "spec": template["spec"]}, **STRICT))


def test_a_pod_that_is_not_restricted_is_refused_there(wire: Wire, team: SpaceSpec) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "root", "namespace": team.namespace},
        "spec": {"containers": [{"name": "main", "image": "x"}]},
    }

    told = wire.call("POST", collection(pod), pod, dryRun="All")

    assert told.status == 403
    assert 'violates PodSecurity "restricted:latest"' in told.json["message"]


@pytest.mark.parametrize("egress", ["internet", "none"])
@pytest.mark.parametrize("known", [{}, {"dns_cidrs": (), "api_server_cidrs": (), "ingress_namespaces": ()}])
def test_every_object_of_a_team_is_accepted(wire: Wire, team: SpaceSpec, egress: str, known: dict[str, Any]) -> None:
    fresh = space_spec(f"suite-{uuid.uuid4().hex[:8]}", egress=egress, **known)
    without_warning(wire.apply(space(fresh)[0], **STRICT))
    again = space_spec(team.tenant, egress=egress, **known)
    for one in space(again)[1:]:
        without_warning(wire.apply(one, force="true", **STRICT))


def place() -> quotas.Place:
    return quotas.Place("turno-suite-", INSTANCE, "quota", uuid.uuid4())


def queue(team: SpaceSpec, **fields: Any) -> list[dict[str, Any]]:
    cells = [
        quotas.Cell("turno-h100", "nvidia.com/gpu", Share(2, borrowing_limit=1, lending_limit=0)),
        quotas.Cell("turno-h100-1g", "nvidia.com/mig-1g.10gb", Share(4)),
        quotas.Cell("turno-shared", "nvidia.com/gpu.shared", Share(8, borrowing_limit=0)),
    ]
    values = {"cohort": "lab", "cells": cells, "cpu": "1000", "memory": "4Ti", **fields}
    return quotas.queue(place(), quotas.QueueSpec(tenant=team.tenant, namespace=team.namespace, **values))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cohort": ""},
        {"cells": []},
        {"hold": True},
        *({"reclaim_within_cohort": one} for one in quotas.RECLAIM),
        *({"within_queue": one} for one in quotas.WITHIN_QUEUE),
    ],
    ids=str,
)
def test_a_teams_queues_are_accepted(wire: Wire, team: SpaceSpec, fields: dict[str, Any]) -> None:
    for one in queue(team, **fields):
        without_warning(wire.apply(one, **STRICT))


def test_flavors_cohorts_and_priorities_are_accepted(wire: Wire) -> None:
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    valued = {"key": "team", "operator": "Equal", "value": "x", "effect": "NoExecute", "tolerationSeconds": 60}
    for one in (
        quotas.resource_flavor(place(), "turno-suite-a", node_labels=CARD, tolerations=[toleration, valued]),
        quotas.resource_flavor(place(), "turno-suite-cpu", node_labels={}, tolerations=[]),
        quotas.cohort(place(), "lab", parent=None),
        quotas.cohort(place(), "lab-small", parent="lab"),
        quotas.priority_class(place(), "high", value=1000, description="For everybody's deadlines"),
        quotas.priority_class(place(), "low", value=-5, description=""),
    ):
        without_warning(wire.apply(one, **STRICT))
