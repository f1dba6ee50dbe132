"""The mirror ends where the cluster is, whatever the order, repetition and grouping in which its events arrive."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.cluster.mirror import Entry, Mirror, entry
from portal.cluster.models import Cluster, MirrorObject
from tests.cluster.objects import INSTANCE, made, ours
from tests.factories.cluster import cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def on(db: None) -> Cluster:
    return cluster()


def mirror(on: Cluster) -> Mirror:
    return Mirror(on, lambda: None)


def job(uid: str, version: int, note: str = "", *, gone: bool = False) -> Entry:
    labels = ours(None, note=note) if note else ours()
    return entry(made("Job", "a", uid=uid, version=version, labels=labels), INSTANCE, gone=gone)


def shown() -> list[tuple[str, str, str]]:
    return [
        (row.uid, row.resource_version, row.data["metadata"]["labels"].get("note", ""))
        for row in MirrorObject.objects.filter(kind="Job")
    ]


def test_an_older_version_never_overwrites_a_newer(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5, "new")], {})
    writer.write([job("u1", 4, "old")], {})

    assert shown() == [("u1", "5", "new")]


def test_an_older_version_loses_also_after_a_change_that_was_not_written(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5, "same")], {})
    writer.write([job("u1", 9, "same")], {})
    writer.write([job("u1", 7, "late")], {})

    assert shown() == [("u1", "5", "same")]


def test_versions_are_compared_as_numbers(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 9, "nine"), job("u1", 10, "ten")], {})

    assert shown() == [("u1", "10", "ten")]


def test_a_deleted_object_does_not_come_back_by_a_late_event(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5)], {})
    writer.write([job("u1", 6, gone=True)], {})
    writer.write([job("u1", 5, "ghost")], {})

    assert shown() == []


def test_the_same_name_with_a_new_uid_replaces_the_row(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5)], {})
    writer.write([job("u2", 8, "second")], {})

    assert shown() == [("u2", "8", "second")]


def test_the_late_deletion_of_the_first_uid_leaves_the_second(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u2", 8, "second")], {})
    writer.write([job("u1", 7, gone=True)], {})

    assert shown() == [("u2", "8", "second")]


def test_deleted_and_made_again_in_one_batch(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5)], {})
    writer.write([job("u1", 6, gone=True), job("u2", 7, "second")], {})

    assert shown() == [("u2", "7", "second")]


def test_a_restarted_watcher_does_not_go_back(on: Cluster) -> None:
    mirror(on).write([job("u1", 5, "new")], {})
    mirror(on).write([job("u1", 4, "old")], {})

    assert shown() == [("u1", "5", "new")]


def test_a_server_that_went_back_in_time_is_believed_after_a_whole_list(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 50, "from before the restore")], {})
    writer.write([job("u1", 60, gone=True)], {})
    writer.distrust("Job")
    writer.write([job("u1", 20, "restored")], {})
    writer.listed("Job", {("turno-data", "a")}, "30")
    writer.write([job("u1", 31, "later")], {"Job": "31"})

    assert shown() == [("u1", "31", "later")]


def test_a_whole_list_removes_what_it_does_not_hold(on: Cluster) -> None:
    writer = mirror(on)
    writer.write([job("u1", 5)], {})
    writer.listed("Job", set(), "9")

    assert shown() == []


HISTORY = [
    job("u1", 1, "one"),
    job("u1", 2, "two"),
    job("u1", 3, "two"),
    job("u1", 4, "four"),
    job("u1", 5, "four", gone=True),
    job("u2", 6, "six"),
    job("u2", 7, "seven"),
]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=st.lists(st.sampled_from(HISTORY), max_size=6).flatmap(lambda more: st.permutations([*HISTORY, *more])),
    cuts=st.lists(st.integers(0, 14), max_size=4),
)
def test_any_order_with_repetitions_in_any_batches_ends_at_the_newest(
    on: Cluster, events: list[Entry], cuts: list[int]
) -> None:
    MirrorObject.objects.all().delete()
    writer = mirror(on)
    edges = [0, *sorted(cuts), len(events)]
    for start, end in itertools.pairwise(edges):
        writer.write(events[start:end], {})

    assert [(uid, note) for uid, _, note in shown()] == [("u2", "seven")]
