"""What pages, positions and figures are read from: fixed numbers of queries, Kueue's order, unknown never as zero."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from portal.cluster import selectors
from portal.cluster.models import Cluster, MirrorObject
from tests.cluster.objects import made
from tests.factories.cluster import cluster, mirrored, synced

pytestmark = pytest.mark.django_db


@pytest.fixture
def on(db: None) -> Cluster:
    return cluster()


def put(
    on: Cluster, kind: str, name: str, *, namespace: str = "", said: dict[str, Any] | None = None, **row: Any
) -> MirrorObject:
    """One row, with the columns of `row` as they are given."""
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return mirrored(on, {"kind": kind, "metadata": metadata, **(said or {})}, **row)


def local_queue(on: Cluster, team: str) -> None:
    put(on, "LocalQueue", team, namespace=f"turno-{team}", said={"spec": {"clusterQueue": f"turno-{team}"}})


def waiting(
    on: Cluster, name: str, *, team: str = "data", priority: int = 0, since: str = "09:00", state: str = "pending"
) -> MirrorObject:
    spec = {"spec": {"queueName": team, "priority": priority}}
    row = put(on, "Workload", name, namespace=f"turno-{team}", said=spec, state=state, workload_id=uuid.uuid4())
    row.data["metadata"]["creationTimestamp"] = f"2026-12-01T{since}:00Z"
    row.save(update_fields=["data"])
    return row


def order(on: Cluster, *queues: str) -> list[str]:
    return [row.name for row in selectors.pending(on.pk, queues)]


def test_what_waits_stands_in_kueues_order(on: Cluster) -> None:
    local_queue(on, "data")
    waiting(on, "late", since="09:03")
    waiting(on, "early", since="09:01")
    waiting(on, "urgent", priority=100, since="09:05")
    waiting(on, "low", priority=-5, since="08:00")

    assert order(on, "turno-data") == ["urgent", "early", "late", "low"]


def test_only_what_waits_in_the_asked_queues_counts(on: Cluster) -> None:
    for team in ("data", "vision"):
        local_queue(on, team)
        waiting(on, f"of-{team}", team=team)
    for state in ("reserved", "finished", "inactive"):
        waiting(on, state, state=state)
    waiting(on, "without-queue", team="nobody")

    assert order(on, "turno-data") == ["of-data"]
    assert order(on, "turno-data", "turno-vision") == ["of-data", "of-vision"]
    assert order(on) == []


def test_an_eviction_for_unready_pods_moves_it_back_in_the_queue(on: Cluster) -> None:
    local_queue(on, "data")
    first = waiting(on, "evicted", since="09:00")
    waiting(on, "other", since="09:02")
    evicted = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout"}
    first.data["status"] = {"conditions": [{**evicted, "lastTransitionTime": "2026-12-01T09:05:00Z"}]}
    first.save(update_fields=["data"])

    assert order(on, "turno-data") == ["other", "evicted"]


def test_the_queue_costs_three_queries_whatever_its_length(
    on: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    local_queue(on, "data")
    for number in range(20):
        waiting(on, f"w{number}")
    with django_assert_num_queries(3):
        assert len(order(on, "turno-data")) == 20


def node(on: Cluster, name: str, *, ready: str = "True", spec: dict[str, Any] | None = None) -> None:
    status = {
        "capacity": {"nvidia.com/gpu": "4"},
        "allocatable": {"nvidia.com/gpu": "3"},
        "conditions": [{"type": "Ready", "status": ready}],
    }
    labels = {"nvidia.com/gpu.product": "H100"}
    mirrored(on, {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": spec or {}, "status": status})


def test_nodes_tell_what_they_have_and_whether_it_counts(on: Cluster) -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    reserved = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    node(on, "a-good")
    node(on, "b-lost", ready="Unknown", spec={"taints": [taint]})
    node(on, "c-cordoned", spec={"unschedulable": True})
    node(on, "d-for-gpu-work-only", spec={"taints": [reserved]})
    synced(on, "Node")
    found = selectors.capacity(on.pk)

    assert [(each.ready, each.schedulable) for each in found.nodes] == [
        (True, True),
        (False, False),
        (True, False),
        (True, True),
    ]
    assert found.nodes[0].allocatable == {"nvidia.com/gpu": "3"}
    assert found.nodes[0].labels == {"nvidia.com/gpu.product": "H100"}
    assert found.as_of is not None


def test_a_mirror_that_was_never_filled_is_unknown(on: Cluster) -> None:
    assert selectors.capacity(on.pk).as_of is None
    assert selectors.as_of(on.pk, "Workload") is None


def test_a_node_without_any_status_does_not_count(on: Cluster) -> None:
    put(on, "Node", "bare")
    [bare] = selectors.capacity(on.pk).nodes

    assert (bare.ready, bare.schedulable, bare.allocatable) == (False, True, {})


def test_what_holds_quota_is_what_has_a_reservation(on: Cluster) -> None:
    waiting(on, "holds", state="reserved")
    waiting(on, "waits")

    assert [row.name for row in selectors.reserved(on.pk)] == ["holds"]


def test_objects_are_found_by_uid_by_workload_and_by_manifest(on: Cluster) -> None:
    workload = uuid.uuid4()
    pod = put(on, "Pod", "a-0", namespace="turno-data", workload_id=workload, uid="pod")
    job = put(on, "Job", "a", namespace="turno-data", workload_id=workload, uid="job")
    kueue = put(on, "Workload", "job-a", namespace="turno-data", job_uid="job", owner_uid="job")
    told = put(on, "Event", "e", namespace="turno-data", owner_uid="pod", workload_id=workload)
    put(on, "Job", "a", namespace="turno-vision", uid="theirs")

    assert selectors.objects_of_workload(workload) == [job, pod]
    assert selectors.by_uids(on.pk, ["pod", "job"], kind="Pod") == [pod]
    assert set(selectors.by_uids(on.pk, ["pod", "job"])) == {pod, job}
    assert selectors.kueue_workloads(on.pk, ["job"]) == [kueue]
    assert selectors.events_of(on.pk, ["pod"]) == [told]
    manifests = [made("Job", "a", namespace="turno-data"), made("Job", "missing", namespace="turno-data")]
    assert selectors.mirrored(on.pk, manifests) == {"Job/a": job}
    assert selectors.mirrored(on.pk, []) == {}


def test_another_clusters_objects_are_never_among_them(on: Cluster) -> None:
    other = cluster("other")
    put(other, "Job", "a", namespace="turno-data", uid="job")
    local_queue(other, "data")
    waiting(other, "w")
    local_queue(on, "data")

    assert selectors.by_uids(on.pk, ["job"]) == []
    assert selectors.mirrored(on.pk, [made("Job", "a", namespace="turno-data")]) == {}
    assert order(on, "turno-data") == []
