"""Lists, details, runs and history as actors read them: bounded rows, constant queries, the reader's language."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import selectors, services, transitions
from jobs.models import Run, Workload
from jobs.states import ANOTHER_TEAM, EXPLANATIONS, Reason
from portal.kernel.actors import Machine, Person
from portal.kernel.transaction import transaction
from tenants.models import Tenant
from tests.conftest import FrozenClock
from tests.factories import cluster as clusters
from tests.factories import jobs
from tests.factories.quotas import Lab, room_for

pytestmark = pytest.mark.django_db


def names(actor: Person | Machine, **filters: str) -> list[str]:
    return [row.name for row in selectors.workloads(actor, **filters)]


@pytest.fixture
def several(owner: Person, machine: Machine, room: Lab) -> dict[str, Workload]:
    return {
        "a": jobs.submitted(owner, name="a", project="p1", description="Fine-tune the invoice model"),
        "b": jobs.submitted(machine, name="b", flavor="h100"),
        "c": jobs.submitted(owner, "endpoint", name="c", env={"BIG": "x" * 100_000}),
    }


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["c", "b", "a"]),
        ({"kind": "training"}, ["b", "a"]),
        ({"project": "p1"}, ["a"]),
        ({"flavor": "h100"}, ["b"]),
        ({"owner": "ci"}, ["b"]),
        ({"state": "submitted"}, ["c", "b", "a"]),
        ({"state": "running"}, []),
        ({"tenant": "data", "kind": "endpoint"}, ["c"]),
        ({"tenant": "vision"}, []),
        ({"q": "INVOICE"}, ["a"]),
        ({"q": "%"}, []),
    ],
)
def test_filters(several: dict[str, Workload], viewer: Person, filters: dict[str, str], expected: list[str]) -> None:
    assert names(viewer, **filters) == expected


def test_deleted_ones_are_hidden_everywhere(several: dict[str, Workload], owner: Person, frozen: FrozenClock) -> None:
    row = services.delete(owner, workload_id=several["a"].pk)
    assert "a" in names(owner)
    with transaction():
        transitions.move(row, reason=Reason.DELETED, now=frozen.at, changes={"deleted_at": frozen.at})
    assert "a" not in names(owner)
    assert selectors.workloads(owner, state="deleted").count() == 0


def test_a_list_costs_the_same_whatever_its_length_and_leaves_long_fields_out(
    several: dict[str, Workload], owner: Person, machine: Machine
) -> None:
    def cost() -> tuple[int, list[dict[str, Any]]]:
        with CaptureQueriesContext(connection) as queries:
            shown = [selectors.represent(row, detail=False, language="en") for row in selectors.workloads(owner)[:50]]
        return len(queries), shown

    few, shown = cost()
    for number in range(20):
        jobs.submitted(machine, name=f"n{number}")
    many, _ = cost()
    assert few == many == 2
    assert all("env" not in row and "args" not in row for row in shown)
    assert len(str(shown)) < 20_000


def test_a_detail_has_everything_that_was_asked(owner: Person, room: Lab) -> None:
    row = jobs.submitted(owner, env={"A": "b"}, args=["", "x y"], labels={"cost": "a"}, memory="8G", cpu="0.5")
    shown = selectors.represent(selectors.workload(owner, row.pk), detail=True, language="en")
    expected = {
        "kind": "training",
        "tenant": "data",
        "cluster": "demo",
        "owner": {"type": "person", "name": "olga"},
        "state": "submitted",
        "reason": "accepted",
        "flavor": "h100-1g",
        "gpus": 1,
        "nodes": 1,
        "run": 1,
        "env": {"A": "b"},
        "args": ["", "x y"],
        "command": ["python", "train.py"],
        "labels": {"cost": "a"},
        "cpu": "0.5",
        "memory": "8G",
        "priority": "normal",
        "framework": "job",
        "replicas": None,
        "position": None,
        "connect_url": None,
        "endpoint_url": None,
        "as_of": None,
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["url"] == f"/api/v1/training-jobs/{row.pk}/"
    assert shown["created_at"].endswith("Z")


def test_the_mirrors_age_is_told(owner: Person, room: Lab, frozen: FrozenClock) -> None:
    row = jobs.submitted(owner)
    clusters.synced(room.cluster, "Workload")
    shown = selectors.represent(selectors.workload(owner, row.pk), detail=True, language="en")
    assert shown["as_of"] == "2026-12-01T09:00:00.000Z"
    assert selectors.explain(owner, row.pk)["as_of"] == frozen.at


def test_a_running_notebook_of_a_person_has_a_way_in(
    owner: Person, machine: Machine, room: Lab, frozen: FrozenClock
) -> None:
    jobs.with_gateway(room.cluster)
    for actor, expected in ((owner, True), (machine, False)):
        row = jobs.submitted(actor, "notebook", name=f"lab-{actor.type}")
        with transaction():
            transitions.move(row, reason=Reason.READY, now=frozen.at)
        assert (selectors.connect_path(row) is not None) is expected


class TestSentences:
    @pytest.mark.parametrize("reason", list(Reason))
    def test_every_reason_reads_even_without_its_values(self, reason: Reason) -> None:
        assert selectors.sentence(EXPLANATIONS[reason].sentence, {}, "en")
        assert "%(" not in selectors.sentence(EXPLANATIONS[reason].sentence, {}, "es")

    def test_rules_and_other_teams_are_words_too(self) -> None:
        told = {"by": ANOTHER_TEAM, "rule": "InCohortReclamation"}
        said = selectors.sentence(EXPLANATIONS[Reason.PREEMPTED].sentence, told, "en")
        assert said == "Preempted by another team (the owner took lent quota back); it waits for quota again."

    def test_names_of_people_are_left_as_they_are(self) -> None:
        for name in ("ana", "InClusterQueue"):
            said = selectors.sentence(EXPLANATIONS[Reason.STOPPED_BY_PERSON].sentence, {"by": name}, "en")
            assert said == f"Stopped by {name}."

    def test_a_percent_sign_of_the_cluster_stays_one(self) -> None:
        assert selectors.sentence("%(text)s", {"text": "50% of %(x)s"}, "en") == "50% of %(x)s"
        assert selectors.sentence("", {}, "en") == ""


class TestRuns:
    def test_newest_first_each_with_its_own_end(self, owner: Person, room: Lab, frozen: FrozenClock) -> None:
        row = jobs.submitted(owner)
        with transaction():
            run = Run.objects.get(workload=row)
            transitions.close_run(run, outcome="failed", reason=Reason.EXIT_CODE, now=frozen.at, exit_code=7)
            transitions.move(row, reason=Reason.EXIT_CODE, now=frozen.at)
            transitions.new_run(row, now=frozen.at)
        shown = selectors.represent_runs(selectors.runs(owner, row.pk))
        assert [(one["number"], one["state"], one["exit_code"]) for one in shown] == [
            (2, "submitted", None),
            (1, "failed", 7),
        ]
        assert selectors.represent_runs([]) == []

    def test_what_never_ran_has_no_manifests(self, owner: Person, room: Lab) -> None:
        row = jobs.submitted(owner)
        found = selectors.manifests(owner, row.pk)
        assert (found.run, found.manifests) == (1, [])


def test_each_team_sees_its_own(
    several: dict[str, Workload], other_team: Tenant, outsider: Person, owner: Person, room: Lab
) -> None:
    room_for(other_team, room)
    jobs.submitted(outsider, name="theirs", tenant="vision")
    assert names(outsider) == ["theirs"]
    assert "theirs" not in names(owner)


def test_states_are_counted_for_the_metrics(several: dict[str, Workload]) -> None:
    assert dict(selectors.counts_by_state()) == {("training", "submitted"): 2.0, ("endpoint", "submitted"): 1.0}
