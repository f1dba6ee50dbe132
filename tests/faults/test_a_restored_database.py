"""Yesterday's database against today's cluster: what is there is adopted, nothing is doubled, nothing is deleted."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from django.db import connection

from deploy.services import program
from jobs.models import UnknownObject, Workload
from portal.cluster.port import ObjectRef
from tests.faults.client import Client
from tests.faults.stage import PORTAL, Stage
from tests.tooling.processes import wait_until

KINDS = ("StatefulSet", "Job", "Pod", "PersistentVolumeClaim", "Service", "Secret", "HTTPRoute")


def dump(stage: Stage, to: Path) -> None:
    url = stage.settings["TURNO_DATABASE_URL"]
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(stage.places.database)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)
        return
    subprocess.run([program("pg_dump", "postgresql"), "--clean", "--if-exists", "-f", str(to), url], check=True)


def restore(stage: Stage, dumped: Path) -> None:
    connection.close()
    url = stage.settings["TURNO_DATABASE_URL"]
    if url.startswith("sqlite"):
        for left in stage.places.folder.glob(f"{stage.places.database.name}-*"):
            left.unlink()
        shutil.copy(dumped, stage.places.database)
        return
    subprocess.run([program("psql", "postgresql"), "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dumped), url], check=True)


def uids(stage: Stage, kind: str) -> dict[str, str]:
    found = stage.gateway.list(kind, namespace="turno-data").items
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def test_everything_is_adopted(stage: Stage, luis: Client, name: str, tmp_path: Path) -> None:
    book, job, rests = (
        luis.submit("notebook", f"{name}-book"),
        luis.submit("training", f"{name}-job"),
        luis.submit("notebook", f"{name}-rests"),
    )
    for each in (book, job, rests):
        each.until("running")
    rests.do("stop")
    rests.until("stopped")
    stage.kill("worker")
    waits = luis.submit("notebook", f"{name}-waits")  # in the dump nobody has made its objects yet
    dump(stage, tmp_path / "dump")
    stage.start("worker")
    waits.until("running")
    rests.do("start")
    rests.until("running")
    later = luis.submit("training", f"{name}-later")
    later.until("running")
    before = {kind: uids(stage, kind) for kind in KINDS}

    stage.kill(*PORTAL, "broker")
    restore(stage, tmp_path / "dump")
    stage.whole()

    assert not Workload.objects.filter(pk=later.id).exists()
    for each, run in ((book, 1), (job, 1), (waits, 1), (rests, 2)):
        wait_until(lambda e=each, n=run: e.now()["run"] == n, f"run {run} of {each.name}")
        assert each.until("running")["run"] == run
    wait_until(UnknownObject.objects.filter(name__startswith=f"{name}-later").exists, "the unknown one is listed")
    time.sleep(3)  # a sweep or two
    assert {kind: uids(stage, kind) for kind in KINDS} == before

    rests.do("stop")
    rests.until("stopped")
    rests.do("start")
    assert rests.until("running")["run"] == 3
    assert uids(stage, "PersistentVolumeClaim") == before["PersistentVolumeClaim"]
    for each in (book, job, waits, rests):
        each.delete()
    (stray,) = (one for one in uids(stage, "Job") if one.startswith(f"{name}-later"))
    stage.gateway.delete(ObjectRef("Job", stray, "turno-data"), uid=before["Job"][stray])  # the administrator's word
    wait_until(lambda: not UnknownObject.objects.exists(), "nothing is unknown any more")
