"""The broker holds nothing that matters: flushed or gone, it costs seconds."""

from __future__ import annotations

import time

from jobs.models import Workload
from tests.faults.client import SHORT, Client
from tests.faults.stage import Stage


def test_a_flushed_broker_costs_seconds(stage: Stage, luis: Client, name: str) -> None:
    stage.pause("worker")
    jobs = [luis.submit("training", f"{name}-{number}", env=SHORT) for number in range(3)]
    stage.flush_broker()
    stage.resume("worker")
    for job in jobs:
        job.until("succeeded")


def test_without_a_broker_requests_are_taken_listed_and_stopped(stage: Stage, luis: Client, name: str) -> None:
    running = luis.submit("training", f"{name}-before")
    running.until("running", "starting")
    stage.kill("broker")
    jobs = []
    for number in range(3):
        began = time.monotonic()
        jobs.append(luis.submit("training", f"{name}-{number}", env=SHORT))
        assert time.monotonic() - began < 6
    assert luis.call("GET", f"/workloads/?q={name}").status == 200
    assert running.do("stop") == 202
    stage.start("broker")
    stage.until_up("broker")
    for job in jobs:
        job.until("succeeded")
    running.until("stopped")
    assert Workload.objects.filter(name__startswith=name).count() == 4
