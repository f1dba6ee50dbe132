"""Ends that are not as planned: memory, images, nodes, evictions; and retries by Turno."""

from __future__ import annotations

import pytest

from jobs import selectors, services
from jobs.models import Run, Workload
from portal.kernel.actors import Person
from tenants.models import Tenant
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db


def ended(stage: Stage, owner: Person, how: str, **changes: object) -> Workload:
    row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "2", "TURNO_SIM_EXIT": how}, **changes)
    stage.run(10)
    return row


def test_a_memory_kill_names_pod_container_and_limit(stage: Stage, owner: Person) -> None:
    row = ended(stage, owner, "oom")
    assert stage.reason(row) == ("failed", "out_of_memory")
    told = stage.now(row).reason_params
    assert (told["container"], told["limit"]) == ("main", "8Gi")
    assert str(told["pod"]).startswith(f"train-{row.pk.hex[-10:]}-r1")
    assert stage.now(row).exit_code == 137


def test_a_plain_137_is_not_called_memory(stage: Stage, owner: Person) -> None:
    row = ended(stage, owner, "137")
    assert stage.reason(row) == ("failed", "exit_code")
    assert stage.now(row).exit_code == 137


def test_an_image_that_cannot_be_pulled_ends_the_run_and_frees_the_quota(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, env={"TURNO_SIM_EXIT": "image"})
    stage.run(40)
    assert stage.reason(row) == ("failed", "image_cannot_be_pulled")
    assert "registry.turno.example/pytorch:1" in selectors.message(stage.now(row), "en")
    assert stage.names("Job") == stage.names("Pod") == []
    assert not stage.now(row).quota_held


def test_an_eviction_by_the_node_is_its_own_reason(stage: Stage, owner: Person) -> None:
    row = ended(stage, owner, "evict")
    assert stage.reason(row) == ("failed", "pod_evicted")
    assert stage.now(row).exit_code is None


def test_an_indexed_job_names_the_pod_that_failed(stage: Stage, owner: Person) -> None:
    row = stage.submit(owner, framework="indexed", nodes=2, env={"TURNO_SIM_SECONDS": "600"})
    stage.run(5)
    assert stage.reason(row) == ("running", "ready")
    assert stage.now(row).nodes_admitted == 2
    pods = stage.names("Pod")
    stage.control("POST", f"/pods/turno-data/{pods[1]}/end", {"exit": "oom"})
    stage.run(5)
    assert stage.reason(row) == ("failed", "out_of_memory")
    assert stage.now(row).reason_params["pod"] == pods[1]


class TestNode:
    def test_a_silent_node_takes_work_out_of_running(self, stage: Stage, owner: Person) -> None:
        stage.submit(owner, "notebook")
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
        stage.run(6)
        assert stage.reason(row) == ("running", "ready")
        stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "stopped"})
        stage.run(90, step=10)
        assert stage.reason(row) == ("starting", "node_state_unknown")
        assert stage.now(row).reason_params["node"] == "gpu-1"
        stage.control("PATCH", "/nodes/gpu-1", {"kubelet": "running"})
        stage.run(30, step=5)
        assert stage.reason(row) == ("running", "ready")

    def test_a_deleted_node_ends_a_job_as_node_failure(self, stage: Stage, owner: Person) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "3000"})
        stage.run(6)
        stage.control("DELETE", "/nodes/gpu-1")
        stage.run(60, step=5)
        assert stage.reason(row) == ("failed", "node_failure")
        assert not stage.now(row).quota_held


class TestRetries:
    def test_each_is_a_run_of_its_own(self, stage: Stage, owner: Person) -> None:
        row = ended(stage, owner, "7", retries=2)
        stage.run(20)
        assert stage.reason(row) == ("failed", "exit_code")
        assert stage.runs(row) == [(1, "failed", 7), (2, "failed", 7), (3, "failed", 7)]
        origins = Run.objects.filter(workload=row).order_by("number").values_list("retry_of", flat=True)
        assert list(origins) == [None, 1, 2]
        assert len(stage.names("Pod")) <= 1

    def test_they_count_from_the_run_that_a_person_started(self, stage: Stage, owner: Person) -> None:
        row = ended(stage, owner, "7", retries=1)
        stage.run(10)
        services.start(owner, workload_id=row.pk)
        stage.run(20)
        assert len(stage.runs(row)) == 4

    def test_a_stop_in_between_wins(self, stage: Stage, owner: Person) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "600", "TURNO_SIM_EXIT": "7"}, retries=5)
        stage.run(5)
        services.stop(owner, workload_id=row.pk)
        stage.run(20)
        assert stage.reason(row) == ("stopped", "stopped_by_person")
        assert len(stage.runs(row)) == 1

    def test_a_suspended_team_is_not_retried(self, stage: Stage, owner: Person, team: Tenant) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_SECONDS": "2", "TURNO_SIM_EXIT": "7"}, retries=5)
        Tenant.objects.filter(pk=team.pk).update(state="suspended")
        stage.run(10)
        assert stage.runs(row) == [(1, "failed", 7)]

    def test_what_cannot_get_better_is_not_retried(self, stage: Stage, owner: Person) -> None:
        row = stage.submit(owner, env={"TURNO_SIM_EXIT": "image"}, retries=5)
        stage.run(40)
        assert stage.runs(row) == [(1, "failed", None)]


class TestFinishedJob:
    def test_it_stays_a_while_for_its_logs_and_goes(self, stage: Stage, owner: Person) -> None:
        row = ended(stage, owner, "0")
        assert stage.reason(row) == ("succeeded", "completed")
        assert len(stage.names("Job")) == len(stage.names("Pod")) == 1
        stage.clock.move(minutes=11)
        stage.settle()
        assert stage.names("Job") == stage.names("Pod") == []
        assert stage.reason(row) == ("succeeded", "completed")

    def test_somebody_who_cleans_up_changes_nothing(self, stage: Stage, owner: Person) -> None:
        row = ended(stage, owner, "1")
        for kind in ("Pod", "Job"):
            for name in stage.names(kind):
                stage.kill(kind, name)
        stage.run(5)
        assert stage.reason(row) == ("failed", "exit_code")
        assert stage.runs(row) == [(1, "failed", 1)]
