"""Yesterday's records against today's cluster: what is there is adopted, nothing is doubled, nothing goes unasked."""

from __future__ import annotations

import pytest
from django.test import Client

from jobs import services
from jobs.models import Run, UnknownObject, Workload
from jobs.reconcile import orphans
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from quotas.models import Allocation
from tenants.models import User
from tests.factories import jobs
from tests.jobs.backups import Backup
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "90000"}
KINDS = ("Job", "StatefulSet", "Pod", "PersistentVolumeClaim", "Service", "Secret", "HTTPRoute")


def running(stage: Stage, owner: Person, kind: str = "notebook", **changes: object) -> Workload:
    row = stage.submit(owner, kind, **({"env": LONG} if kind == "training" else {}), **changes)
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")
    return row


def restart(stage: Stage, owner: Person, row: Workload) -> None:
    services.start(owner, workload_id=row.pk)
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")


def there(stage: Stage) -> dict[str, str]:
    """`Kind/name` -> uid of everything of the team's."""
    return {
        f"{kind}/{one['metadata']['name']}": one["metadata"]["uid"] for kind in KINDS for one in stage.objects(kind)
    }


@pytest.mark.parametrize("kind", ["notebook", "training"])
def test_a_run_that_was_started_after_the_backup_goes_on(stage: Stage, owner: Person, kind: str) -> None:
    row = running(stage, owner, kind)
    stage.stop(owner, row)
    stage.run(5)
    backup = Backup.take()
    restart(stage, owner, row)
    before = there(stage)

    backup.restore(stage)
    assert stage.now(row).run_number == 1
    stage.run(10)
    assert there(stage) == before
    assert stage.reason(row) == ("running", "ready")
    assert stage.runs(row) == [(1, "stopped", None), (2, "", None)]
    assert Allocation.objects.get(released_at=None).run == 2
    told = FeedEntry.objects.get(object_id=row.pk, type="adopted")
    assert told.params == {"run": 2}

    stage.stop(owner, row)
    stage.run(5)
    assert stage.reason(row) == ("stopped", "stopped_by_person")
    assert stage.names("Pod") == []


def test_a_notebook_that_ran_in_the_backup_does_not_run_twice_on_one_home(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    backup = Backup.take()
    for _ in range(2):
        stage.stop(owner, row)
        stage.run(5)
        restart(stage, owner, row)
    before = there(stage)
    backup.restore(stage)
    for _ in range(10):
        stage.run(1)
        assert there(stage) == before
    assert stage.reason(row) == ("running", "ready")
    assert stage.runs(row) == [(1, "stopped", None), (2, "stopped", None), (3, "", None)]
    assert {run.reason for run in Run.objects.filter(workload=row).exclude(number=3)} == {"records_behind"}


def test_what_was_stopped_meanwhile_is_not_started_by_its_last_breath(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    stage.stop(owner, row)
    stage.run(5)
    backup = Backup.take()
    restart(stage, owner, row)
    backup.restore(stage)
    stage.look()
    stage.kill("StatefulSet", f"lab-{row.pk.hex[-10:]}-r2")  # the mirror has not heard of it
    stage.work()
    stage.run(5)
    assert stage.reason(row) == ("stopped", "stopped_by_person")
    assert stage.names("StatefulSet") == stage.names("Pod") == []


def test_a_name_that_went_to_another_is_left_to_the_administrator(stage: Stage, owner: Person) -> None:
    first = running(stage, owner, "training", name="same")
    pod = stage.names("Pod")[0]
    stage.control("POST", f"/pods/turno-data/{pod}/end", {"exit": "0"})
    stage.run(5)
    second = running(stage, owner, "training", name="same")
    backup = Backup.take()
    services.delete(owner, workload_id=second.pk)
    stage.run(8)
    restart(stage, owner, first)
    backup.restore(stage)
    stage.run(8)
    assert stage.reason(first) == ("succeeded", "completed")
    later = f"same-{first.pk.hex[-10:]}-r2"
    orphans.find()
    assert UnknownObject.objects.get(kind="Job").name == later
    assert later in stage.names("Job")
    services.delete(owner, workload_id=first.pk)
    stage.run(8)
    orphans.find()
    assert later not in stage.names("Job")
    assert not UnknownObject.objects.filter(kind="Job").exists()


def test_what_was_made_after_the_backup_is_listed_for_the_administrator_and_stays(
    stage: Stage, owner: Person, administrator: Person, client: Client
) -> None:
    backup = Backup.take()
    row = running(stage, owner)
    before = there(stage)
    backup.restore(stage)
    stage.run(5)
    orphans.find()
    stage.run(5)
    assert there(stage) == before
    assert not Workload.objects.filter(pk=row.pk).exists()
    listed = {f"{one.kind}/{one.name}" for one in UnknownObject.objects.all()}
    mirrored = {key for key in before if not key.startswith("Secret/")}
    assert mirrored <= listed

    client.force_login(User.objects.get(pk=administrator.id))
    page = client.get("/admin/jobs/unknownobject/").content.decode()
    assert f"lab-{row.pk.hex[-10:]}-home" in page
    assert "no workload of this id" in page
    client.force_login(User.objects.get(pk=owner.id))
    assert client.get("/admin/jobs/unknownobject/").status_code in (302, 403, 404)


def test_a_request_that_is_lost_with_the_backup_is_taken_anew(stage: Stage, owner: Person) -> None:
    backup = Backup.take()
    lost = running(stage, owner)
    backup.restore(stage)
    again = services.submit(owner, kind="notebook", data=jobs.request("notebook"))
    stage.run(8)
    assert stage.reason(again) == ("running", "ready")
    homes = stage.names("PersistentVolumeClaim")
    assert homes == sorted(f"lab-{row.pk.hex[-10:]}-home" for row in (lost, again))
