"""Rows are written only for what changed, and each change wakes exactly whom it concerns."""

from __future__ import annotations

import uuid
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.cluster import names, selectors
from portal.cluster.mirror import Entry, Mirror, entry
from portal.cluster.models import Cluster, MirrorObject, MirrorStream
from portal.cluster.port import JsonObject
from portal.kernel.models import Work
from tests.cluster.objects import INSTANCE, event, kueue_workload, made, ours
from tests.conftest import FrozenClock
from tests.factories.cluster import cluster

pytestmark = pytest.mark.django_db
W1, W2 = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.fixture
def on(db: None) -> Cluster:
    return cluster()


@pytest.fixture
def writer(on: Cluster) -> Mirror:
    return Mirror(on, lambda: None)


def read(obj: JsonObject, *, gone: bool = False) -> Entry:
    return entry(obj, INSTANCE, gone=gone)


def woken() -> dict[tuple[str, UUID], int]:
    return {(row.kind, row.object_id): row.wanted_seq for row in Work.objects.all()}


def pod(version: int = 1, phase: str = "Pending", **given: object) -> JsonObject:
    labels = ours(W1, run=3)
    return made("Pod", "a-0", version=version, labels=labels, spec={"containers": []}, status={"phase": phase}, **given)


def test_an_object_of_ours_is_found_by_its_workload_and_run(writer: Mirror) -> None:
    writer.write([read(pod())], {})

    [row] = selectors.objects_of_workload(W1)
    assert (row.kind, row.run, row.ours, row.data["status"]) == ("Pod", 3, True, {"phase": "Pending", "conditions": []})
    assert woken() == {("workload", W1): 1}


def test_labels_of_ours_on_somebody_elses_object_count_for_nothing(writer: Mirror) -> None:
    labels = {names.WORKLOAD: str(W1), names.OBJECT: f"queue.{W2}"}
    writer.write([read(made("Node", "n", labels=labels))], {})

    assert selectors.objects_of_workload(W1) == []
    assert woken() == {}


def test_a_label_that_is_no_uuid_is_skipped(writer: Mirror) -> None:
    broken = {names.WORKLOAD: "nonsense", names.RUN: "x", names.OBJECT: "queue.nonsense"}
    writer.write([read(made("Job", "a", labels=ours() | broken))], {})

    assert MirrorObject.objects.get().workload_id is None
    assert woken() == {}


def test_a_change_of_nothing_that_turno_reads_writes_no_row_and_wakes_nobody(
    writer: Mirror, frozen: FrozenClock
) -> None:
    writer.write([read(pod(1))], {})
    frozen.move(minutes=5)
    again = pod(2)
    again["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    writer.write([read(again)], {})

    assert MirrorObject.objects.get().resource_version == "1"
    assert woken() == {("workload", W1): 1}


def test_a_nodes_heartbeat_writes_no_row(writer: Mirror) -> None:
    def node(version: int, beat: str) -> Entry:
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": beat}
        return read(made("Node", "n", version=version, status={"conditions": [ready]}))

    writer.write([node(1, "2026-12-01T09:00:00Z")], {})
    writer.write([node(2, "2026-12-01T09:05:00Z")], {})

    assert MirrorObject.objects.get().resource_version == "1"


def test_a_change_and_a_deletion_wake_the_workload_again(writer: Mirror) -> None:
    writer.write([read(pod(1))], {})
    writer.write([read(pod(2, "Running"))], {})
    writer.write([read(pod(3, "Running"), gone=True)], {})

    assert woken() == {("workload", W1): 3}
    assert not MirrorObject.objects.exists()


def test_many_events_of_one_batch_wake_once(writer: Mirror) -> None:
    writer.write([read(pod(number, str(number))) for number in range(1, 50)], {})

    assert woken() == {("workload", W1): 1}


def test_a_queues_counters_wake_nobody_but_its_condition_does(writer: Mirror) -> None:
    def queue(version: int, pending: int, active: str) -> Entry:
        status = {"pendingWorkloads": pending, "conditions": [{"type": "Active", "status": active, "reason": "Ready"}]}
        labels = ours() | {names.OBJECT: f"queue.{W2}"}
        return read(made("ClusterQueue", "q", version=version, labels=labels, spec={}, status=status))

    writer.write([queue(1, 0, "True")], {})
    writer.write([queue(2, 7, "True")], {})
    assert woken() == {("queue", W2): 1}
    assert MirrorObject.objects.get().data["status"]["pendingWorkloads"] == 7

    writer.write([queue(3, 7, "False")], {})
    assert woken() == {("queue", W2): 2}


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_kueue_workload_and_its_events_find_the_workload_of_their_owner_whoever_comes_first(
    writer: Mirror, order: tuple[int, ...], together: bool
) -> None:
    job = made("Job", "a", uid="job", labels=ours(W1))
    waiting = kueue_workload("job-a", "job", uid="kueue", owner=("Job", "job"))
    told = event("e", "kueue")
    entries = [read([job, waiting, told][each]) for each in order]
    for batch in [entries] if together else [[each] for each in entries]:
        writer.write(batch, {})

    assert set(MirrorObject.objects.values_list("workload_id", flat=True)) == {W1}
    assert {row.kind for row in selectors.objects_of_workload(W1)} == {"Job", "Workload"}
    assert ("workload", W1) in woken()


def test_an_event_about_a_known_object_wakes_its_workload_and_its_expiry_does_not(writer: Mirror, on: Cluster) -> None:
    writer.write([read(pod())], {})
    writer.write([read(event("e", "uid-a-0"))], {})
    assert woken() == {("workload", W1): 2}
    assert [row.name for row in selectors.events_of(on.pk, ["uid-a-0"])] == ["e"]

    writer.write([read(event("e", "uid-a-0", version=2), gone=True)], {})
    assert woken() == {("workload", W1): 2}


def test_the_workload_of_a_deleted_kueue_workload_is_woken(writer: Mirror) -> None:
    writer.write([read(made("Job", "a", uid="job", labels=ours(W1)))], {})
    writer.write([read(kueue_workload("job-a", "job", uid="kueue"))], {})
    writer.write([read(kueue_workload("job-a", "job", uid="kueue", version=9), gone=True)], {})

    assert woken() == {("workload", W1): 3}


def test_what_a_whole_list_no_longer_holds_wakes_its_workload(writer: Mirror) -> None:
    writer.write([read(pod())], {})
    writer.listed("Pod", set(), "9")

    assert woken() == {("workload", W1): 2}


def test_as_of_is_unknown_until_a_whole_list_and_then_moves_with_every_sign_of_life(
    writer: Mirror, on: Cluster, frozen: FrozenClock
) -> None:
    writer.write([read(pod())], {"Pod": "1"})
    assert selectors.as_of(on.pk, "Pod") is None

    writer.listed("Pod", {("turno-data", "a-0")}, "5")
    assert selectors.as_of(on.pk, "Pod") == frozen.at

    later = frozen.move(seconds=9)
    writer.write([], {"Pod": "8"})
    assert selectors.as_of(on.pk, "Pod") == later
    assert writer.resume_from("Pod") == "8"
    assert MirrorStream.objects.get().listed_at < later


def test_a_writer_that_no_longer_leads_changes_nothing(on: Cluster) -> None:
    def refuse() -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        Mirror(on, refuse).write([read(pod())], {})

    assert not MirrorObject.objects.exists()
    assert woken() == {}


def test_a_batch_costs_the_same_number_of_statements_whatever_its_size(writer: Mirror, on: Cluster) -> None:
    def batch(count: int, prefix: str) -> list[Entry]:
        return [
            read(made("Pod", f"{prefix}-{n}", labels=ours(uuid.UUID(int=n + 1)), status={"phase": "Running"}))
            for n in range(count)
        ]

    writer.write(batch(50, "warm"), {"Pod": "1"})
    counts = []
    for size, prefix in ((2, "few"), (50, "many")):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            writer.write(batch(size, prefix), {"Pod": "2"})
        counts.append(len([q for q in queries if "INSERT INTO" not in q["sql"]]))

    assert counts[0] == counts[1]
