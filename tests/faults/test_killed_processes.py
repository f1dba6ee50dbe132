"""kill -9 at every step: what was accepted is done once, by whoever comes next."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobs.models import Run, RunObject, Workload
from portal.kernel.models import Work
from tests.faultproxy.proxy import Fault
from tests.faults.client import SHORT, Client
from tests.faults.stage import Stage, locked, slow_history
from tests.tooling.processes import wait_until

# What a notebook becomes, in the order of its making: how each is asked for.
OBJECTS = {
    "claim": "^PATCH .*/persistentvolumeclaims/{}-",
    "secret": "^PATCH .*/secrets/{}-",
    "service": "^PATCH .*/services/{}-",
    "route": "^PATCH .*/httproutes/{}-",
    "set": "^POST .*/statefulsets",
}


@pytest.mark.parametrize("moment", ["hold", "hold_after"], ids=["before the cluster has it", "before it is recorded"])
def test_a_worker_dies_half_way_through_a_set_of_objects(stage: Stage, luis: Client, name: str, moment: str) -> None:
    """One notebook for each object at which a pass can be broken off; all die at once."""
    faults = [
        stage.proxy.add(Fault(moment, match=how.format(f"{name}-{kind}"), times=1)) for kind, how in OBJECTS.items()
    ]
    stage.proxy.taken.clear()
    books = [luis.submit("notebook", f"{name}-{kind}") for kind in OBJECTS]
    wait_until(lambda: len(stage.proxy.taken) == len(OBJECTS), f"{stage.proxy.taken}")

    stage.kill("worker")
    for fault in faults:
        fault.release()
    stage.start("worker")

    for book in books:
        book.until("running")
    for book in books:
        assert book.delete() == 202
        book.until("deleted")


def test_a_worker_dies_between_the_creation_of_a_job_and_its_record(stage: Stage, luis: Client, name: str) -> None:
    fault = stage.proxy.add(Fault("hold_after", match="^POST .*/jobs", times=1))
    job = luis.submit("training", name, env=SHORT)
    wait_until(lambda: stage.proxy.taken[-1:] == ["hold_after POST /apis/batch/v1/namespaces/turno-data/jobs"], "a Job")
    assert [one.uid for one in RunObject.objects.filter(workload_id=job.id)] == [""]

    stage.kill("worker")
    fault.release()
    stage.start("worker")

    assert job.until("succeeded")["exit_code"] == 0
    assert Run.objects.filter(workload_id=job.id).count() == 1


def test_a_worker_dies_inside_the_transaction_that_records(stage: Stage, luis: Client, name: str) -> None:
    job = luis.submit("training", name, env=SHORT)
    job.until("succeeded")
    made = stage.asked("^POST .*/jobs")
    with slow_history(stage):
        assert job.do("start") == 202
        wait_until(lambda: stage.asked("^POST .*/jobs") > made, "a Job")
        time.sleep(0.5)  # the pass is on its way from the answer to the commit, and stays there
        stage.kill("worker")
        assert Workload.objects.get(pk=job.id).state == "submitted"
    stage.start("worker")
    assert job.until("succeeded")["run"] == 2


def test_a_worker_dies_in_a_sweep(stage: Stage, luis: Client, name: str) -> None:
    stage.kill("worker")
    jobs = [luis.submit("training", f"{name}-{number}", env=SHORT) for number in range(4)]
    stage.flush_broker()
    Work.objects.filter(object_id__in=[job.id for job in jobs]).update(queued_at=None)
    stage.start("worker")
    stage.until_up("worker")
    with locked(stage):
        time.sleep(2.5)  # a sweep begins every 2 s, and this one cannot end
        stage.kill("worker")
    stage.start("worker")
    for job in jobs:
        job.until("succeeded")


def test_the_watcher_dies_in_a_batch(stage: Stage, luis: Client, name: str) -> None:
    jobs = [luis.submit("training", f"{name}-{number}") for number in range(3)]
    for job in jobs:
        job.until("running")
    with locked(stage):
        for job in jobs:
            pods = stage.gateway.list("Pod", selector=f"turno.dev/workload={job.id}").items
            stage.control("POST", f"/pods/turno-data/{pods[0]['metadata']['name']}/end", {"exit": "0"})
        time.sleep(1.0)  # the batch waits for its turn to write
        stage.kill("watch")
    stage.start("watch")
    for job in jobs:
        job.until("succeeded")


def test_the_web_process_dies_in_a_submit_and_the_retry_gets_one_workload(
    stage: Stage, luis: Client, name: str
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with locked(stage):
            broken = threads.submit(luis.post, "training", name, key=name, env=SHORT)
            time.sleep(0.7)  # the request waits for its turn to write
            stage.kill("web")
        assert broken.result().status == 0
    stage.start("web")
    stage.until_up("web")
    answer = luis.post("training", name, key=name, env=SHORT)
    again = luis.post("training", name, key=name, env=SHORT)
    assert (answer.status, again.status) == (201, 201)
    assert again.json == answer.json
    assert Workload.objects.filter(name=name).count() == 1


def test_every_process_dies_at_once(stage: Stage, luis: Client, name: str) -> None:
    jobs = [luis.submit("training", f"{name}-{number}", env=SHORT) for number in range(6)]
    time.sleep(0.3)
    stage.kill("broker", "worker", "beat", "watch", "logs", "web")
    stage.whole()
    for job in jobs:
        job.until("succeeded")
