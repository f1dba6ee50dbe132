"""The watcher asks Kueue's visibility API about queues that changed, keeps the answer, rests where there is none."""

from __future__ import annotations

import pytest

from portal.cluster import selectors
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.mirror import Mirror, entry
from portal.cluster.pending import ASK_EVERY, OFF_FOR, PendingWatch
from portal.cluster.port import ClusterError, Forbidden, JsonObject, Missing, ObjectRef, ServerTrouble
from portal.cluster.streams import Term
from portal.cluster.watch import NotLeading, write_items
from portal.kernel import clock
from tests.cluster.loopback import simulated
from tests.factories import cluster as clusters

pytestmark = pytest.mark.django_db


class Door:
    """The two verbs of a gateway that are used here; `answers`: by queue, keys or an error."""

    def __init__(self, **answers: list[str] | ClusterError) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.served = True

    def pending(self, cluster_queue: str) -> list[str]:
        self.asked.append(cluster_queue)
        found = self.answers.get(cluster_queue, Missing())
        if isinstance(found, ClusterError):
            raise found
        return found

    def get(self, ref: ObjectRef) -> JsonObject | None:
        return {"kind": ref.kind} if ref.name in self.answers else None


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic time, as the only item."""
    held = [1000.0]
    monkeypatch.setattr(clock, "monotonic", lambda: held[0])
    return held


def local_queue(namespace: str, name: str, to: str) -> JsonObject:
    meta = {"namespace": namespace, "name": name, "uid": f"q-{name}", "resourceVersion": "1"}
    return {"kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": to}}


def waits(queue: str = "data", name: str = "w") -> JsonObject:
    meta = {"namespace": "turno-data", "name": name, "uid": f"u-{name}", "resourceVersion": "2"}
    return {"kind": "Workload", "metadata": meta, "spec": {"queueName": queue, "podSets": []}}


class Watched:
    """The thread's own work and the writer's, in turns."""

    def __init__(self, door: Door) -> None:
        self.on = clusters.cluster("demo")
        clusters.mirrored(self.on, local_queue("turno-data", "data", "alpha"))
        clusters.mirrored(self.on, local_queue("turno-data", "other", "beta"))
        self.term = Term()
        self.mirror = Mirror(self.on, lambda: None)
        self.pending = PendingWatch(self.term, door)  # type: ignore[arg-type]

    def told(self, *objects: JsonObject) -> None:
        """The streams said so."""
        self.pending.changed(self.mirror.queues_of(entry(one, "turno") for one in objects))
        self.look()

    def look(self) -> None:
        self.pending.look()
        while not self.term.items.empty():
            write_items(self.mirror, [self.term.items.get()])

    @property
    def orders(self) -> dict[str, list[str]]:
        return selectors.pending_orders(self.on.pk)


def test_only_queues_that_changed_are_asked_and_the_answer_is_kept(moment: list[float]) -> None:
    door = Door(alpha=["turno-data/b", "turno-data/a"], beta=[])
    watch = Watched(door)
    watch.look()
    assert door.asked == []
    watch.told(waits())
    assert door.asked == ["alpha"]
    assert watch.orders == {"alpha": ["turno-data/b", "turno-data/a"]}
    moment[0] += 60
    watch.look()
    assert door.asked == ["alpha"]


def test_a_busy_queue_is_asked_once_in_a_while(moment: list[float]) -> None:
    door = Door(alpha=[])
    watch = Watched(door)
    for _ in range(5):
        watch.told(waits())
        moment[0] += ASK_EVERY / 5
    assert door.asked == ["alpha"]
    moment[0] += ASK_EVERY
    watch.look()
    assert door.asked == ["alpha", "alpha"]


@pytest.mark.parametrize("error", [Missing(), Forbidden()])
def test_without_the_api_it_is_off_and_tried_again_later(moment: list[float], error: ClusterError) -> None:
    door = Door(alpha=error)
    watch = Watched(door)
    for _ in range(4):
        watch.told(waits())
        moment[0] += ASK_EVERY
    assert door.asked == ["alpha"]
    moment[0] += OFF_FOR
    door.answers["alpha"] = ["turno-data/a"]
    watch.told(waits())
    assert watch.orders == {"alpha": ["turno-data/a"]}


def test_a_queue_that_has_gone_turns_nothing_off(moment: list[float]) -> None:
    door = Door(alpha=["turno-data/a"])
    watch = Watched(door)
    watch.told(waits())
    del door.answers["alpha"]
    door.answers["beta"] = []
    moment[0] += ASK_EVERY
    watch.told(waits())
    watch.told(waits("other"))
    assert watch.orders == {"beta": []}


def test_a_server_in_trouble_is_asked_again(moment: list[float]) -> None:
    door = Door(alpha=ServerTrouble())
    watch = Watched(door)
    watch.told(waits())
    door.answers["alpha"] = ["turno-data/a"]
    moment[0] += ASK_EVERY
    watch.look()
    assert watch.orders == {"alpha": ["turno-data/a"]}


def test_only_the_leader_writes(moment: list[float]) -> None:
    watch = Watched(Door(alpha=["turno-data/a"]))
    watch.mirror = Mirror(watch.on, _not_leading)
    with pytest.raises(NotLeading):
        watch.told(waits())
    assert watch.orders == {}


def _not_leading() -> None:
    raise NotLeading


def test_the_simulated_cluster_answers_like_kueue() -> None:
    with simulated() as engine:
        gateway = KubeGateway(Connection(engine.address), manager="turno-turno")
        with pytest.raises(Missing):
            gateway.pending("nobody")
        gateway.create({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "alpha"}})
        assert gateway.pending("alpha") == []
