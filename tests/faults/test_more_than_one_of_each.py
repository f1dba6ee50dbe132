"""Two workers, two watchers, two beats; and one that was away and thinks that it still holds the work."""

from __future__ import annotations

import time

from jobs.models import Run, RunObject
from portal.kernel.models import FeedEntry
from tests.faultproxy.proxy import Fault
from tests.faults.client import SHORT, Client
from tests.faults.stage import Stage
from tests.tooling.processes import wait_until


def test_two_of_everything_do_everything_once(stage: Stage, luis: Client, name: str) -> None:
    stage.start("worker-2", "watch-2", "beat-2", "logs-2")
    stage.until_up("worker-2")
    jobs = [luis.submit("training", f"{name}-{number}", env=SHORT) for number in range(10)]
    book = luis.submit("notebook", name)
    for job in jobs:
        job.until("succeeded")
        told = FeedEntry.objects.filter(object_id=job.id, source="turno").exclude(type="changed")
        assert list(told.values_list("type", flat=True).order_by("seq"))[-1] == "succeeded"
        assert told.filter(type="succeeded").count() == 1
    book.until("running")
    stage.kill("watch")
    book.do("stop")
    book.until("stopped")
    book.delete()


def test_a_paused_worker_that_comes_back_changes_no_row_and_its_stray_is_taken_away(
    stage: Stage, luis: Client, name: str
) -> None:
    fault = stage.proxy.add(Fault("hold", match="^POST .*/jobs", times=1))
    job = luis.submit("training", name)
    wait_until(lambda: stage.proxy.taken[-1:] == ["hold POST /apis/batch/v1/namespaces/turno-data/jobs"], "a Job")
    stage.pause("worker")
    stage.start("worker-2")
    job.until("running")  # the lease ran out, and the other one made the Job
    assert job.do("stop") == 202
    job.until("stopped")
    told = FeedEntry.objects.filter(object_id=job.id, source="turno").exclude(type="changed")
    before = told.count(), list(Run.objects.filter(workload_id=job.id).values())
    known = list(RunObject.objects.filter(workload_id=job.id).values())

    fault.release()  # what the paused one had sent arrives now
    wait_until(lambda: of(stage, job.id, "Job"), "the stray")
    stage.resume("worker")
    wait_until(lambda: not of(stage, job.id, "Job"), "the stray is gone")
    time.sleep(1)
    assert (told.count(), list(Run.objects.filter(workload_id=job.id).values())) == before
    assert list(RunObject.objects.filter(workload_id=job.id).values()) == known


def test_a_stray_of_an_earlier_run_does_not_live_beside_the_next(stage: Stage, luis: Client, name: str) -> None:
    fault = stage.proxy.add(Fault("hold", match="^POST .*/statefulsets", times=1))
    book = luis.submit("notebook", name)
    wait_until(lambda: "hold POST /apis/apps/v1/namespaces/turno-data/statefulsets" in stage.proxy.taken, "a set")
    stage.pause("worker")
    stage.start("worker-2")
    book.until("running")
    book.do("stop")
    book.do("start")
    assert book.until("running")["run"] == 2
    fault.release()
    wait_until(lambda: len(of(stage, book.id, "StatefulSet")) == 2, "the stray")
    stage.resume("worker")
    wait_until(lambda: len(of(stage, book.id, "StatefulSet")) == 1, "the stray is gone")
    assert of(stage, book.id, "StatefulSet")[0].endswith("-r2")
    book.until("running")
    book.delete()


def of(stage: Stage, workload_id: str, kind: str) -> list[str]:
    found = stage.gateway.list(kind, selector=f"turno.dev/workload={workload_id}").items
    return sorted(one["metadata"]["name"] for one in found)
