"""Kueue's word comes first; where the model of admission reads it otherwise, that is said and counted."""

from __future__ import annotations

import pytest

from jobs import selectors
from jobs.models import Workload
from portal.cluster.models import MirrorObject, PendingOrder
from portal.kernel.actors import Person
from portal.telemetry import metrics
from quotas import planning
from quotas.models import Disagreement
from quotas.services import disagreeing
from tests.factories import cluster as clusters
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "6000"}


@pytest.fixture
def stuck(stage: Stage, owner: Person) -> Workload:
    """Its queue controller has died: there is room, and nobody admits it."""
    row = stage.submit(owner, name="stuck", flavor="h100", env=LONG)
    stage.control("PUT", "/kueue", {"runs": False})
    workload = MirrorObject.objects.get(kind="Workload", namespace="turno-data")
    workload.data["status"] = {}
    rewrite(workload, data=workload.data, state="pending")
    Workload.objects.filter(pk=row.pk).update(state="queued", reason="in_line", reason_params={}, quota_held=False)
    return stage.now(row)


def rewrite(row: MirrorObject, **values: object) -> None:
    """The mirror's row says something else, as after a change on the cluster."""
    MirrorObject.objects.filter(pk=row.pk).update(resource_version=f"{row.resource_version}1", **values)
    clusters.changed(row.cluster, row.kind)


def clear(stage: Stage) -> None:
    """Everything has left."""
    MirrorObject.objects.filter(kind="Workload").delete()
    clusters.changed(stage.cluster, "Workload")


def note(actor: Person, row: Workload) -> str | None:
    found: str | None = selectors.explain(actor, row.pk)["blocker"]["note"]
    return found


def sample(name: str, kind: str) -> float | None:
    return metrics.REGISTRY.get_sample_value(name, {"cluster": "demo", "kind": kind})


def test_room_that_kueue_does_not_give_is_told_once_it_lasts(stage: Stage, owner: Person, stuck: Workload) -> None:
    assert disagreeing.compare() == 0
    assert note(owner, stuck) is None
    stage.clock.move(seconds=31)
    assert disagreeing.compare() == 1
    said = note(owner, stuck)
    assert said is not None
    assert said.startswith("Kueue has not admitted it although by our reading there is room, since 2026-12-01T09:")
    page = people.signed_in(owner).get(f"/workloads/{stuck.pk}/").content.decode()
    assert "although by our reading there is room, since <time" in page


def test_it_is_counted_once_while_it_lasts_and_ends_with_it(stage: Stage, stuck: Workload) -> None:
    for _ in range(4):
        disagreeing.compare()
        stage.clock.move(seconds=20)
    assert sample("turno_admission_disagreements", "room") == 1
    assert sample("turno_admission_disagreed_total", "room") == 1
    clear(stage)
    assert disagreeing.compare() == 0
    assert sample("turno_admission_disagreements", "room") == 0
    assert sample("turno_admission_disagreed_total", "room") == 1


def test_a_moment_of_deciding_is_no_disagreement(stage: Stage, owner: Person, stuck: Workload) -> None:
    disagreeing.compare()
    clear(stage)
    stage.clock.move(seconds=60)
    disagreeing.compare()
    assert Disagreement.objects.get(kind="room").total == 0


@pytest.mark.parametrize("hold", ["queue", "back-off", "unseen"])
def test_what_kueue_does_not_try_is_no_disagreement(stage: Stage, stuck: Workload, hold: str) -> None:
    if hold == "queue":
        local = MirrorObject.objects.get(kind="LocalQueue")
        rewrite(local, data={**local.data, "spec": {**local.data["spec"], "stopPolicy": "Hold"}})
    elif hold == "back-off":
        one = MirrorObject.objects.get(kind="Workload")
        waits = {**one.data, "status": {"requeueState": {"count": 1, "requeueAt": "2026-12-02T00:00:00Z"}}}
        rewrite(one, data=waits)
    else:
        stage.cluster.unreachable_since = stage.clock.at
        stage.cluster.save()
    disagreeing.compare()
    stage.clock.move(seconds=60)
    assert disagreeing.compare() == 0


class TestOrder:
    @pytest.fixture
    def three(self, stage: Stage, owner: Person) -> list[Workload]:
        """One runs, two wait; Kueue has told another order than age would give."""
        rows = [stage.submit(owner, name=name, flavor="h100", env=LONG) for name in ("runs", "older")]
        stage.clock.move(seconds=2)
        rows.append(stage.submit(owner, name="newer", flavor="h100", env=LONG))
        stage.run(2)
        keys = [one.key for one in planning.standing(stage.cluster.pk).waiting("turno-data")]
        assert len(keys) == 2
        stage.mirror.ordered("turno-data", keys[::-1])
        return rows

    def test_places_are_kueues_own(self, stage: Stage, owner: Person, three: list[Workload]) -> None:
        assert [selectors.position(stage.now(row)) for row in three] == [None, 2, 1]
        assert selectors.explain(owner, three[1].pk)["position"] == {"queue": 2, "queue_length": 2, "cohort": 2}
        (line,) = selectors.lines(owner)
        assert [one.workload.name for one in line.places if one.workload] == ["newer", "older"]

    def test_the_difference_is_counted(self, stage: Stage, three: list[Workload]) -> None:
        disagreeing.compare()
        stage.clock.move(seconds=40)
        disagreeing.compare()
        assert sample("turno_admission_disagreements", "order") == 1

    def test_an_order_that_misses_somebody_is_not_used(
        self, stage: Stage, owner: Person, three: list[Workload]
    ) -> None:
        (row,) = PendingOrder.objects.all()
        stage.mirror.ordered("turno-data", row.keys[:1])
        assert [selectors.position(stage.now(row)) for row in three] == [None, 1, 2]


def test_while_kueue_is_silent_the_model_says_why_it_waits(stage: Stage, owner: Person) -> None:
    stage.submit(owner, name="runs", flavor="h100", env=LONG)
    row = stage.submit(owner, name="silent", flavor="h100", env=LONG)
    Workload.objects.filter(pk=row.pk).update(state="queued", reason="in_line", reason_params={})
    assert note(owner, row) == "By our reading it needs 1 of h100, and 0 can be had now."
