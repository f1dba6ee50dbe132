"""Whatever the API server answers, or does not: each object is made once, and nobody has to press anything."""

from __future__ import annotations

import time
from datetime import timedelta

from django.test import Client as Browser

from jobs.models import Run, RunObject, Workload
from portal.kernel import clock
from portal.kernel.models import Work
from tenants.models import User
from tests.factories.tenants import person, signed_in
from tests.faultproxy.proxy import Fault
from tests.faults.client import SHORT, Client
from tests.faults.stage import Stage
from tests.tooling.processes import wait_until

FAULTS = {
    "conflict": {"do": "status", "status": 409},
    "expired": {"do": "status", "status": 410},
    "busy": {"do": "status", "status": 429, "retry_after": 1},
    "broken": {"do": "status", "status": 500},
    "away": {"do": "status", "status": 503},
    "silent": {"do": "hang", "seconds": 12.0},  # longer than anybody waits
    "cut": {"do": "reset_before"},
    "lost": {"do": "reset_after"},
    "torn": {"do": "truncate", "bytes": 40},
}


def signed_in_as(username: str) -> Browser:
    return signed_in(person(User.objects.get(username=username)))


def test_a_write_that_fails_in_any_way_is_done_once(stage: Stage, luis: Client, name: str) -> None:
    """Each notebook meets another trouble at its Service; the jobs meet all of them, one after the other."""
    for kind, fault in FAULTS.items():
        stage.proxy.add(Fault(match=f"^PATCH .*/services/{name}-{kind}-", times=1, **fault))  # type: ignore[arg-type]
        stage.proxy.add(Fault(match="^POST .*/jobs", times=1, **fault))  # type: ignore[arg-type]
    books = [luis.submit("notebook", f"{name}-{kind}") for kind in FAULTS]
    jobs = [luis.submit("training", f"{name}-{kind}", env=SHORT) for kind in FAULTS]
    for job in jobs:
        job.until("succeeded")
    for book in books:
        book.until("running")

    assert not [fault for fault in stage.proxy.faults if fault.times]
    assert Run.objects.filter(workload_id__in=[one.id for one in jobs + books]).count() == len(jobs + books)
    for book in books:
        book.delete()


def test_a_delete_that_fails_in_any_way_is_done(stage: Stage, luis: Client, name: str) -> None:
    jobs = {kind: luis.submit("training", f"{name}-{kind}") for kind in FAULTS}
    for job in jobs.values():
        job.until("running", "starting")
    for kind, fault in FAULTS.items():
        stage.proxy.add(Fault(match=f"^DELETE .*/jobs/{name}-{kind}-", times=1, **fault))  # type: ignore[arg-type]
    for job in jobs.values():
        assert job.do("stop") == 202
    for job in jobs.values():
        job.until("stopped")
    assert not [fault for fault in stage.proxy.faults if fault.times]


def test_an_api_server_that_asks_for_patience_gets_it(stage: Stage, luis: Client, name: str) -> None:
    stage.proxy.add(Fault("status", match="^POST .*/jobs", times=1, status=429, retry_after=3))
    stage.proxy.seen.clear()
    began = time.monotonic()
    job = luis.submit("training", name, env=SHORT)
    wait_until(lambda: stage.asked("^POST .*/jobs") == 1, "the first try")
    wait_until(lambda: stage.asked("^POST .*/jobs") == 2, "the second")
    assert time.monotonic() - began >= 3
    job.until("succeeded")


def test_access_that_is_taken_away_is_told_and_nothing_is_lost(stage: Stage, luis: Client, name: str) -> None:
    fault = stage.proxy.add(Fault("status", match="^POST .*/jobs", status=403))
    stage.proxy.seen.clear()
    job = luis.submit("training", name, env=SHORT)
    said = job.until("submitted", reason="cluster_refuses_access")
    assert "since" in said["message"]
    assert stage.asked("^POST .*/jobs") <= 5
    stage.proxy.remove(fault)
    job.until("succeeded")


def test_without_a_queue_controller_work_waits_and_says_so(stage: Stage, luis: Client, name: str) -> None:
    stage.control("PUT", "/kueue", {"runs": False})
    try:
        job = luis.submit("training", name, env=SHORT)
        book = luis.submit("notebook", name)
        for one in (job, book):
            assert "since" in one.until("submitted", reason="queue_system_unavailable")["message"]
    finally:
        stage.control("PUT", "/kueue", {"runs": True})
    job.until("succeeded")
    book.until("running")
    book.delete()


def test_while_the_api_server_is_down_requests_are_taken_and_the_page_says_since_when(
    stage: Stage, luis: Client, name: str
) -> None:
    page = signed_in_as("luis")
    running = luis.submit("training", f"{name}-before")
    running.until("running", "starting")
    stage.proxy.refuse()
    try:
        jobs = []
        for number in range(15):
            began = time.monotonic()
            jobs.append(luis.submit("training", f"{name}-{number}", env=SHORT))
            assert time.monotonic() - began < 10
        jobs[0].until("submitted", reason="cluster_unreachable")
        assert running.do("stop") == 202
        running.until("stopping", reason="stopping_unreachable")
        wait_until(lambda: "not answered since" in page.get(f"/workloads/{jobs[0].id}/").content.decode(), "the page")
        wait_until(lambda: Workload.objects.get(pk=jobs[0].id).cluster.unreachable_since, "the cluster's own row")
        grown_patience = clock.now() + timedelta(seconds=300)  # as after an hour of trying
        Work.objects.filter(object_id__in=[job.id for job in jobs]).update(attempts=9, due_at=grown_patience)
    finally:
        stage.proxy.accept()
    began = time.monotonic()
    for job in jobs:
        job.until("succeeded")
    running.until("stopped")
    assert time.monotonic() - began < 150
    assert RunObject.objects.filter(workload_id__in=[job.id for job in jobs], uid="").count() == 0
