"""The mark of a kind moves with every change of its rows, in the same transaction, and with nothing else."""

from __future__ import annotations

import uuid

import pytest

from portal.cluster import selectors
from portal.cluster.mirror import Mirror, entry
from portal.cluster.models import Cluster, MirrorObject
from portal.cluster.port import JsonObject
from tests.cluster.objects import INSTANCE, made, ours
from tests.factories.cluster import cluster

pytestmark = pytest.mark.django_db
KINDS = ("Pod", "Job", "Workload")
W1 = uuid.UUID(int=1)


@pytest.fixture
def on(db: None) -> Cluster:
    return cluster()


@pytest.fixture
def writer(on: Cluster) -> Mirror:
    """Everything was listed, and there is one pod."""
    found = Mirror(on, lambda: None)
    for kind in KINDS:
        found.listed(kind, set(), "1")
    write(found, pod(1))
    return found


def write(writer: Mirror, *objects: JsonObject, gone: bool = False) -> None:
    writer.write([entry(one, INSTANCE, gone=gone) for one in objects], dict.fromkeys(KINDS, "9"))


def pod(version: int, phase: str = "Pending") -> JsonObject:
    return made("Pod", "a-0", version=version, labels=ours(W1), spec={"containers": []}, status={"phase": phase})


def moved(on: Cluster, before: selectors.Content) -> set[str]:
    """The kinds whose marks are others now."""
    after = selectors.content(on.pk, KINDS)
    return {kind for kind, mark in after.marks if (kind, mark) not in before.marks}


def test_a_change_moves_the_mark_of_its_kind_alone(writer: Mirror, on: Cluster) -> None:
    before = selectors.content(on.pk, KINDS)
    write(writer, pod(2, "Running"))
    assert moved(on, before) == {"Pod"}


def test_signs_of_life_and_repetitions_move_nothing(writer: Mirror, on: Cluster) -> None:
    before = selectors.content(on.pk, KINDS)
    write(writer)
    write(writer, pod(2))
    writer.listed("Pod", {("turno-data", "a-0")}, "12")
    assert moved(on, before) == set()


def test_what_goes_moves_it_whether_told_or_missing_from_a_list(writer: Mirror, on: Cluster) -> None:
    before = selectors.content(on.pk, KINDS)
    write(writer, pod(2), gone=True)
    assert moved(on, before) == {"Pod"}
    write(writer, made("Job", "j", labels=ours(W1)))
    before = selectors.content(on.pk, KINDS)
    writer.listed("Job", set(), "14")
    assert moved(on, before) == {"Job"}


def test_learning_late_whose_it_is_moves_it_too(writer: Mirror, on: Cluster) -> None:
    owner = made("Job", "j", labels=ours(W1))
    owned = {**made("Workload", "job-j"), "spec": {"podSets": []}, "status": {}}
    owned["metadata"]["ownerReferences"] = [{"uid": owner["metadata"]["uid"], "controller": True}]
    write(writer, owned)
    before = selectors.content(on.pk, KINDS)
    write(writer, owner)
    assert moved(on, before) == {"Job", "Workload"}
    assert MirrorObject.objects.get(kind="Workload").workload_id == W1


def test_an_order_moves_it_only_where_it_is_another(writer: Mirror, on: Cluster) -> None:
    def tell(keys: list[str] | None) -> set[str]:
        before = selectors.content(on.pk, KINDS)
        writer.ordered("turno-data", keys)
        return moved(on, before)

    assert tell(["turno-data/a", "turno-data/b"]) == {"Workload"}
    assert tell(["turno-data/a", "turno-data/b"]) == set()
    assert tell(["turno-data/b", "turno-data/a"]) == {"Workload"}
    assert tell(None) == {"Workload"}
    assert tell(None) == set()
