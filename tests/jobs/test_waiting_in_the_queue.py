"""Waiting: why, at which place, and what takes a running job's place away."""

from __future__ import annotations

import pytest

from jobs import selectors, services
from jobs.models import Workload
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from quotas.models import Allocation
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}


def job(stage: Stage, actor: Person, name: str, **changes: object) -> Workload:
    return stage.submit(actor, name=name, env=LONG, **changes)


def test_a_full_queue_says_what_is_missing_and_at_which_place(stage: Stage, owner: Person) -> None:
    first = job(stage, owner, "first", flavor="h100", gpus=1)
    second = job(stage, owner, "second", flavor="h100", gpus=1)
    stage.clock.move(seconds=1)
    third = job(stage, owner, "third", flavor="h100", gpus=1)
    stage.run(3)
    assert stage.reason(first) == ("running", "ready")
    assert stage.reason(second) == ("queued", "waiting_for_quota")
    assert stage.now(second).reason_params["needed"] == "1"
    assert [selectors.position(stage.now(one)) for one in (first, second, third)] == [None, 1, 2]
    assert selectors.explain(owner, third.pk)["position"] == {"queue": 2, "queue_length": 2, "cohort": 2}
    told = selectors.explain(owner, second.pk)
    assert told["position"] == {"queue": 1, "queue_length": 2, "cohort": 1}
    assert told["blocker"]["code"] == "waiting_for_quota"
    assert told["blocker"]["needed"] == 1
    assert told["as_of"] is not None
    services.stop(owner, workload_id=first.pk)
    stage.run(6)
    assert stage.reason(second) == ("running", "ready")
    assert selectors.position(stage.now(third)) == 1


def test_a_flavor_is_named_as_people_know_it(stage: Stage, owner: Person) -> None:
    job(stage, owner, "first", flavor="h100")
    row = job(stage, owner, "second", flavor="h100")
    stage.run(2)
    assert stage.now(row).reason_params["flavor"] == "h100"
    assert "turno-" not in selectors.message(stage.now(row), "en")


class TestPreemption:
    @pytest.fixture
    def victim(self, stage: Stage, owner: Person) -> Workload:
        """Runs on the team's only card with the lowest priority."""
        row = job(stage, owner, "victim", flavor="h100", priority="low")
        stage.run(3)
        assert stage.reason(row) == ("running", "ready")
        return row

    @pytest.fixture
    def preemptor(self, stage: Stage, manager: Person, victim: Workload) -> Workload:
        """Came later, with more right."""
        row = job(stage, manager, "urgent", flavor="h100", priority="high")
        stage.run(5)
        assert stage.reason(row) == ("running", "ready")
        return row

    def test_the_victim_waits_again_in_the_same_run(self, stage: Stage, victim: Workload, preemptor: Workload) -> None:
        assert stage.reason(victim) == ("queued", "preempted")
        found = stage.now(victim)
        assert (found.run_number, found.preemptions, found.quota_held) == (1, 1, False)
        assert found.reason_params == {"rule": "InClusterQueue", "by": "urgent"}
        held = Allocation.objects.get(workload_id=victim.pk)
        assert (held.why, held.by) == ("preempted", "urgent")
        assert held.released_at is not None

    def test_it_runs_again_when_there_is_room(
        self, stage: Stage, manager: Person, victim: Workload, preemptor: Workload
    ) -> None:
        services.stop(manager, workload_id=preemptor.pk)
        stage.run(8)
        assert stage.reason(victim) == ("running", "ready")
        assert stage.runs(victim) == [(1, "", None)]
        assert stage.now(victim).preemptions == 1
        assert Allocation.objects.filter(workload_id=victim.pk).count() == 2
        assert Allocation.objects.filter(workload_id=victim.pk, released_at=None).count() == 1

    def test_kueues_words_lose_what_is_other_teams(
        self, stage: Stage, owner: Person, victim: Workload, preemptor: Workload
    ) -> None:
        told = [entry.params.get("text", "") for entry in selectors.events(owner, victim.pk) if entry.source == "kueue"]
        assert any("Preempted to accommodate a workload" in text for text in told)
        assert not any("UID" in text or "preemptor path" in text for text in told)


def test_an_evicted_one_says_why(stage: Stage, owner: Person) -> None:
    row = job(stage, owner, "train")
    stage.run(3)
    name = f"train-{row.pk.hex[-10:]}-r1"
    stage.control("PUT", "/kueue", {"runs": False})
    stage.control("POST", f"/workloads/turno-data/{name}/evict", {"reason": "AdmissionCheck", "message": "no licence"})
    stage.settle()
    told = FeedEntry.objects.filter(object_id=row.pk, reason="evicted", source="turno").first()
    assert told is not None
    assert told.params["why"] == "AdmissionCheck"
    assert stage.now(row).run_number == 1


def test_cluster_events_are_copied_once(stage: Stage, owner: Person) -> None:
    row = job(stage, owner, "train")
    stage.run(5)
    copied = [entry.event_uid for entry in selectors.events(owner, row.pk) if entry.event_uid]
    assert copied
    assert len(copied) == len(set(copied))
    sources = {entry.source for entry in selectors.events(owner, row.pk)}
    assert {"turno", "kueue", "pod", "job"} >= sources
    assert {"turno", "kueue"} <= sources


def test_a_deadline_is_kueues_and_counts_as_failed(stage: Stage, owner: Person) -> None:
    row = job(stage, owner, "train", max_duration=20)
    stage.run(40)
    assert stage.reason(row) == ("failed", "deadline_exceeded")
    assert stage.now(row).reason_params == {"seconds": "20"}
    assert not stage.now(row).quota_held
    assert stage.names("Job") == []
