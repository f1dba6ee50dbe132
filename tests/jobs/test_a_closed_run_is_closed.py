"""What happens on the cluster after a run has ended changes nothing of what is told of that run."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import Run, Workload
from portal.cluster.port import JsonObject
from portal.kernel.actors import Person
from quotas.models import Allocation
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "3000"}


def told(row: Workload) -> list[dict[str, Any]]:
    return list(Run.objects.filter(workload=row).order_by("number").values())


def again(job: JsonObject) -> JsonObject:
    """The Job as a worker makes it that was away when the run ended."""
    template = job["spec"]["template"]
    drop = ("batch.kubernetes.io/", "controller-uid", "job-name", "kueue.x-k8s.io/pod")
    labels = {name: value for name, value in template["metadata"]["labels"].items() if not name.startswith(drop)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {key: job["metadata"][key] for key in ("name", "namespace", "labels")},
        "spec": {
            "suspend": True,
            "backoffLimit": 0,
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_stray_that_lives_for_a_while_leaves_no_trace_in_the_run(stage: Stage, owner: Person, steps: int) -> None:
    row = stage.submit(owner, env=LONG)
    stage.run(8)
    job = stage.objects("Job")[0]
    stage.stop(owner, row)
    stage.run(6)
    before = told(row)
    stage.gateway.create(again(job))
    for _ in range(steps):
        stage.clock.move(seconds=1)
        stage.tick()
    stage.run(8)
    assert stage.names("Job") == stage.names("Pod") == []
    assert told(row) == before
    assert stage.reason(row) == ("stopped", "stopped_by_person")
    assert not stage.now(row).quota_held
    assert not Allocation.objects.filter(workload_id=row.pk, released_at=None).exists()


def test_pods_that_are_cleaned_up_and_events_that_come_late_change_nothing(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3", "TURNO_SIM_EXIT": "7"})
    stage.run(12)
    before = told(row)
    assert (before[0]["outcome"], before[0]["exit_code"]) == ("failed", 7)
    stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})
    stage.run(60, step=10)
    for kind in ("Pod", "Job"):
        for name in stage.names(kind):
            stage.kill(kind, name)
    stage.run(10)
    assert told(row) == before
    assert stage.reason(row) == ("failed", "exit_code")


def test_an_earlier_run_is_as_it_was_when_the_next_one_has_ended(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3", "TURNO_SIM_EXIT": "7"}, retries=1)
    stage.run(9)
    first = told(row)[0]
    stage.run(20)
    assert [run["outcome"] for run in told(row)] == ["failed", "failed"]
    assert told(row)[0] == first
