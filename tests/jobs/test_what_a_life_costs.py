"""What Turno asks of the API server: little in a workload's life, nothing while nothing happens."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from portal.cluster.kube import KubeGateway
from portal.kernel.actors import Person
from portal.kernel.models import Work
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
MINUTE = 60.0


@pytest.fixture
def asked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Every exchange of the workers with the API server, by method and kind of object."""
    found: Counter[str] = Counter()
    exchange = KubeGateway._json

    def counted(self: KubeGateway, method: str, path: str, *arguments: Any, **options: Any) -> Any:
        parts = path.partition("/namespaces/")[2].split("/")
        found[f"{method} {parts[1] if len(parts) > 1 else path}"] += 1
        return exchange(self, method, path, *arguments, **options)

    monkeypatch.setattr(KubeGateway, "_json", counted)
    return found


def writes(asked: Counter[str]) -> int:
    return sum(count for what, count in asked.items() if what.split()[0] in WRITES)


def test_a_training_job_costs_one_write_from_submit_to_its_end(
    stage: Stage, asked: Counter[str], owner: Person
) -> None:
    row = stage.submit(owner)
    stage.run(40)
    assert stage.now(row).state == "succeeded"
    assert asked == {"POST jobs": 1}


def test_a_retry_costs_two_writes_more(stage: Stage, asked: Counter[str], owner: Person) -> None:
    row = stage.submit(owner, retries=1, env={"TURNO_SIM_EXIT": "3"})
    stage.run(80)
    assert stage.runs(row) == [(1, "failed", 3), (2, "failed", 3)]
    assert asked["POST jobs"] == 2
    assert asked["DELETE jobs"] == 1
    assert writes(asked) == 3


def test_a_notebook_started_stopped_and_deleted_costs_at_most_fifteen_writes(
    stage: Stage, asked: Counter[str], owner: Person
) -> None:
    row = stage.submit(owner, "notebook")
    stage.run(10)
    assert stage.now(row).state == "running"
    stage.stop(owner, row)
    stage.run(40)
    assert stage.now(row).state == "stopped"
    assert writes(asked) <= 15, asked


def test_an_idle_turno_asks_nothing(stage: Stage, asked: Counter[str], owner: Person) -> None:
    forever = {"env": {"TURNO_SIM_SECONDS": "100000"}}
    rows = [stage.submit(owner, name=f"idle-{number}", **forever) for number in range(3)]
    stage.submit(owner, "notebook")
    stage.run(30)
    assert {stage.now(row).state for row in rows} <= {"running", "queued"}
    asked.clear()
    passes = len(stage.passes)
    stage.run(11 * MINUTE, step=30)
    assert len(stage.passes) > passes, "rows were looked at again"
    assert Work.objects.exclude(parked_reason="").count() == 0
    assert not asked
