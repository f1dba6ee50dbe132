"""A notebook on the simulated cluster: its home outlives runs, and nothing ever takes the place of a lost one."""

from __future__ import annotations

import pytest

from jobs import services
from jobs.models import Workload
from portal.cluster.port import ObjectRef
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
NAMESPACE = "turno-data"


def running(stage: Stage, owner: Person, **changes: object) -> Workload:
    row = stage.submit(owner, "notebook", **changes)
    stage.run(6)
    assert stage.reason(row) == ("running", "ready")
    return row


def claim(stage: Stage, row: Workload) -> str:
    """The uid of its home on the cluster."""
    found = stage.gateway.get(ObjectRef("PersistentVolumeClaim", f"lab-{row.pk.hex[-10:]}-home", NAMESPACE))
    return "" if found is None else str(found["metadata"]["uid"])


def test_it_runs_with_all_its_objects(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    stem = f"lab-{row.pk.hex[-10:]}"
    assert stage.names("StatefulSet") == [f"{stem}-r1"]
    assert stage.names("Service") == [stem]
    assert stage.names("HTTPRoute") == [stem]
    assert stage.names("Secret") == [stem]
    assert stage.names("PersistentVolumeClaim") == [f"{stem}-home"]
    assert stage.names("Pod") == [f"{stem}-r1-0"]
    assert stage.now(row).quota_held


def test_a_stop_takes_the_pod_and_leaves_the_home(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    home = claim(stage, row)
    stage.stop(owner, row)
    assert stage.now(row).state == "stopping"
    stage.run(5)
    assert stage.reason(row) == ("stopped", "stopped_by_person")
    assert stage.now(row).reason_params == {"by": "olga"}
    assert stage.names("Pod") == stage.names("StatefulSet") == []
    assert not stage.now(row).quota_held
    services.start(owner, workload_id=row.pk)
    stage.run(6)
    assert stage.reason(row) == ("running", "ready")
    assert claim(stage, row) == home
    assert stage.runs(row) == [(1, "stopped", None), (2, "", None)]


def test_a_start_while_it_stops_happens_when_the_old_pod_is_gone(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    for _ in range(2):
        services.stop(owner, workload_id=row.pk)
        services.start(owner, workload_id=row.pk)
    stage.run(10)
    assert stage.reason(row) == ("running", "ready")
    assert stage.names("StatefulSet") == [f"lab-{row.pk.hex[-10:]}-r2"]
    assert stage.names("Pod") == [f"lab-{row.pk.hex[-10:]}-r2-0"]
    assert stage.runs(row) == [(1, "stopped", None), (2, "", None)]


def test_a_stop_after_that_calls_the_start_off(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    services.stop(owner, workload_id=row.pk)
    services.start(owner, workload_id=row.pk)
    services.stop(owner, workload_id=row.pk)
    stage.run(10)
    assert stage.reason(row) == ("stopped", "stopped_by_person")
    assert stage.names("Pod") == []


def test_a_pod_that_vanished_in_the_dark_ends_the_stop(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    stage.blind = True
    stage.kill("StatefulSet", f"lab-{row.pk.hex[-10:]}-r1")
    stage.tick()
    services.stop(owner, workload_id=row.pk)
    services.start(owner, workload_id=row.pk)
    stage.run(5)
    stage.blind = False
    stage.run(10)
    assert stage.reason(row) == ("running", "ready")
    assert stage.runs(row) == [(1, "stopped", None), (2, "", None)]


class TestDeleting:
    def test_the_home_is_kept_for_seven_days(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        services.delete(owner, workload_id=row.pk)
        stage.run(10)
        assert stage.reason(row) == ("deleted", "deleted")
        assert stage.names("Service") == stage.names("Secret") == stage.names("HTTPRoute") == []
        assert claim(stage, row)
        stage.clock.move(days=6)
        stage.settle()
        assert claim(stage, row)
        stage.clock.move(days=1, minutes=1)
        stage.settle()
        stage.run(3)
        assert not claim(stage, row)

    def test_the_data_goes_at_once_where_that_is_asked(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        services.delete(owner, workload_id=row.pk, delete_data=True)
        stage.run(10)
        assert stage.reason(row) == ("deleted", "deleted")
        assert not claim(stage, row)

    def test_a_delete_while_it_starts_leaves_nothing(self, stage: Stage, owner: Person) -> None:
        row = stage.submit(owner, "notebook")
        services.delete(owner, workload_id=row.pk, delete_data=True)
        stage.run(10)
        assert stage.reason(row) == ("deleted", "deleted")
        for kind in ("StatefulSet", "Pod", "Service", "Secret", "HTTPRoute", "PersistentVolumeClaim", "Workload"):
            assert stage.names(kind) == [], kind

    def test_a_delete_while_it_stops_wins(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        stage.stop(owner, row)
        services.delete(owner, workload_id=row.pk)
        stage.run(10)
        assert stage.reason(row) == ("deleted", "deleted")
        assert stage.runs(row) == [(1, "deleted", None)]

    def test_the_name_is_free_again_and_the_new_one_has_its_own_home(self, stage: Stage, owner: Person) -> None:
        first = running(stage, owner)
        services.delete(owner, workload_id=first.pk)
        stage.run(10)
        second = running(stage, owner)
        assert claim(stage, second)
        assert claim(stage, second) != claim(stage, first)


class TestLostHome:
    def test_a_home_deleted_while_stopped_is_told_and_never_replaced(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        stage.stop(owner, row)
        stage.run(5)
        stage.kill("PersistentVolumeClaim", f"lab-{row.pk.hex[-10:]}-home")
        stage.run(10)
        assert FeedEntry.objects.filter(object_id=row.pk, type="data_gone").count() == 1
        noticed = stage.clock.at
        stage.clock.move(days=1)
        services.start(owner, workload_id=row.pk)
        stage.run(5)
        assert stage.reason(row) == ("failed", "data_gone")
        assert str(stage.now(row).reason_params["since"]) <= noticed.isoformat()
        assert not claim(stage, row)
        assert stage.names("Pod") == []

    def test_a_restored_database_takes_the_very_home_again(self, stage: Stage, owner: Person) -> None:
        row = running(stage, owner)
        home = claim(stage, row)
        stage.stop(owner, row)
        stage.run(5)
        Workload.objects.filter(pk=row.pk).update(applied={})
        services.start(owner, workload_id=row.pk)
        stage.run(6)
        assert stage.reason(row) == ("running", "ready")
        assert claim(stage, row) == home
