"""A training job on the simulated cluster, from accepted to its exit code."""

from __future__ import annotations

import pytest

from jobs import selectors, services
from jobs.models import Run
from portal.kernel.actors import Person
from quotas.models import Allocation
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db


def test_it_runs_to_its_end(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "10"})
    stage.run(3)
    assert stage.reason(row) == ("running", "ready")
    running = stage.now(row)
    assert running.quota_held
    assert running.nodes_admitted == 1
    stage.run(12)
    assert stage.reason(row) == ("succeeded", "completed")
    over = stage.now(row)
    assert (over.exit_code, over.quota_held) == (0, False)
    assert stage.runs(row) == [(1, "succeeded", 0)]
    assert stage.told(row) == ["submitted", "queued", "starting", "running", "succeeded"]
    held = Allocation.objects.get(workload_id=row.pk)
    assert (held.flavor, held.units, held.why) == ("h100-1g", 1, "finished")
    assert held.released_at is not None
    run = Run.objects.get(workload=row)
    assert run.admitted_at is not None
    assert run.started_at is not None
    assert run.finished_at is not None
    assert run.admitted_at <= run.started_at <= run.finished_at


def test_a_pass_repeated_changes_nothing(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "600"})
    stage.run(3)
    before = stage.now(row).changed_seq
    for _ in range(3):
        stage.clock.move(seconds=400)
        stage.work()
    assert stage.now(row).changed_seq == before


def test_its_exit_code_reaches_the_answer(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "2", "TURNO_SIM_EXIT": "7"})
    stage.run(8)
    assert stage.reason(row) == ("failed", "exit_code")
    assert stage.now(row).exit_code == 7
    shown = selectors.represent(stage.now(row), detail=True, language="en")
    assert "exit code 7" in shown["message"]


def test_a_failed_one_starts_again_as_a_new_run(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "2", "TURNO_SIM_EXIT": "1"})
    stage.run(8)
    services.start(owner, workload_id=row.pk)
    stage.run(2)
    assert stage.now(row).run_number == 2
    assert stage.names("Job") == [f"train-{row.pk.hex[-10:]}-r2"]
    stage.run(8)
    assert stage.runs(row) == [(1, "failed", 1), (2, "failed", 1)]
