"""Whatever changes between two runs, the next one mounts the very claim of the first; a lost one is never replaced."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import services
from jobs.manifests import names
from jobs.models import Run, Workload
from jobs.reconcile import rendering
from portal.kernel.actors import Person
from tenants.models import Tenant, User
from tests.factories import jobs
from tests.jobs.backups import Backup
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db


@pytest.fixture
def book(stage: Stage, owner: Person) -> Workload:
    row = stage.submit(owner, "notebook")
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")
    return row


def mounted(stage: Stage) -> str:
    """The claim that the only pod mounts."""
    (pod,) = stage.objects("Pod")
    (name,) = (
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    )
    return str(name)


def homes(stage: Stage) -> dict[str, str]:
    found = stage.objects("PersistentVolumeClaim")
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def stop(stage: Stage, owner: Person, row: Workload) -> None:
    stage.stop(owner, row)
    stage.run(6)
    assert stage.reason(row) == ("stopped", "stopped_by_person")


def start(stage: Stage, owner: Person, row: Workload) -> None:
    services.start(owner, workload_id=row.pk)
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")


@pytest.fixture
def other_names(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The next release builds all names in another way."""

    def change() -> None:
        monkeypatch.setattr(names, "stem", lambda name, workload_id: f"n2-{workload_id.hex[-8:]}", raising=True)
        monkeypatch.setattr(rendering, "BUILDERS_REVISION", 99)

    return change


def test_another_way_to_build_names(stage: Stage, owner: Person, book: Workload, other_names: Any) -> None:
    before, home = homes(stage), mounted(stage)
    stop(stage, owner, book)
    other_names()
    start(stage, owner, book)
    assert Run.objects.get(workload=book, number=2).builders_revision == 99
    assert stage.names("Service") != [home.removesuffix("-home")]
    assert mounted(stage) == home
    assert homes(stage) == before


def test_other_words_for_team_project_and_owner(stage: Stage, owner: Person, book: Workload) -> None:
    before, home = homes(stage), mounted(stage)
    stop(stage, owner, book)
    Tenant.objects.update(name="Another name")
    User.objects.filter(pk=owner.id).update(username="renamed")
    Workload.objects.update(owner_label="renamed", project="elsewhere", spec={**stage.now(book).spec, "project": "new"})
    start(stage, owner, book)
    assert mounted(stage) == home
    assert homes(stage) == before


def test_yesterdays_records_from_before_the_first_run_and_other_names(
    stage: Stage, owner: Person, other_names: Any
) -> None:
    stage.blind = True
    services.submit(owner, kind="notebook", data=jobs.request("notebook"))
    backup = Backup.take()
    stage.blind = False
    stage.run(8)
    before, home = homes(stage), mounted(stage)
    backup.restore(stage)
    stage.look()
    other_names()
    stage.run(10)
    assert mounted(stage) == home
    assert homes(stage) == before


def test_yesterdays_records_of_a_stopped_one(stage: Stage, owner: Person, book: Workload) -> None:
    before, home = homes(stage), mounted(stage)
    stop(stage, owner, book)
    backup = Backup.take()
    start(stage, owner, book)
    stop(stage, owner, book)
    backup.restore(stage)
    start(stage, owner, book)
    assert mounted(stage) == home
    assert homes(stage) == before


def test_a_lost_one_is_not_replaced_by_another_way_to_build_names(
    stage: Stage, owner: Person, book: Workload, other_names: Any
) -> None:
    home = mounted(stage)
    stop(stage, owner, book)
    stage.kill("PersistentVolumeClaim", home)
    other_names()
    services.start(owner, workload_id=book.pk)
    stage.run(6)
    assert stage.reason(book) == ("failed", "data_gone")
    assert stage.now(book).reason_params["name"] == home
    assert homes(stage) == {}
