"""The story of a preemption: who took the place, by which rule, when, and what is known of the lost work."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from jobs import selectors, services
from jobs.models import Workload
from portal.kernel.actors import Person
from portal.kernel.errors import NotFound
from quotas.models import Allocation, Cohort, Quota
from tenants.models import Tenant
from tests.factories import logs
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "6000"}


@pytest.fixture
def borrower(stage: Stage, owner: Person, outsider: Person, room: Lab, other_team: Tenant) -> Workload:
    """Runs for ten minutes on a card that the other team lends, until that team wants it back."""
    quota_rows.room_for(other_team, room)
    Quota.objects.update(borrowing_limit=None)
    stage.furnish()
    stage.submit(owner, name="own-card", flavor="h100", env=LONG)
    row = stage.submit(owner, name="guest", flavor="h100", env=LONG, checkpoint_path="/data/ckpt")
    stage.run(3)
    assert stage.reason(row) == ("running", "ready")
    stage.run(600, step=300)
    return row


@pytest.fixture
def taken(stage: Stage, outsider: Person, borrower: Workload) -> Workload:
    stage.submit(outsider, name="confidential", tenant="vision", flavor="h100", env=LONG)
    stage.run(5)
    assert stage.reason(borrower) == ("queued", "preempted")
    return borrower


def page(actor: Person, path: str) -> str:
    answer = people.signed_in(actor).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def printed(row: Workload, lines: list[tuple[datetime, str]]) -> None:
    """As `manage.py logs` keeps what a pod wrote."""
    text, seconds = "", []
    for at, line in lines:
        seconds.append([int(at.timestamp()), len(text)])
        text += f"{line}\n"
    stream = logs.stream(row, run=row.run_number, pod="guest-1", at=lines[0][0])
    logs.chunk(stream, text, seconds=seconds)


def test_a_checkpoint_that_its_log_told_of_says_how_much_is_lost(stage: Stage, owner: Person, taken: Workload) -> None:
    (story,) = selectors.taken_from_workload(owner, taken.pk)
    assert story.saved_at is None
    before = [story.at - timedelta(minutes=minutes) for minutes in (9, 4, 2)]
    lines = [
        (before[0], "turno: checkpoint 1"),
        (before[1], "turno: checkpoint 2"),
        (before[2], "no turno: checkpoint"),
    ]
    printed(taken, [*lines, (story.at + timedelta(minutes=1), "turno: checkpoint of the next life")])
    (story,) = selectors.taken_from_workload(owner, taken.pk)
    assert story.saved_at == before[1].replace(microsecond=0)
    assert story.lost == "It told of a checkpoint 4 min before: the work since then is lost."
    assert story.lost in page(owner, f"/workloads/{taken.pk}/")
    (of_team,) = selectors.taken_from_team(owner, taken.tenant)
    assert of_team.lost == story.lost
    assert story.lost in page(owner, "/teams/data/")


def test_a_checkpoint_just_before_is_told_in_seconds(stage: Stage, owner: Person, taken: Workload) -> None:
    (story,) = selectors.taken_from_workload(owner, taken.pk)
    saved = (story.at - timedelta(seconds=20)).replace(microsecond=0)
    printed(taken, [(saved, "turno: checkpoint")])
    (told,) = selectors.taken_from_workload(owner, taken.pk)
    seconds = int((story.at - saved).total_seconds())
    assert told.lost == f"It told of a checkpoint {seconds} s before: the work since then is lost."


def test_the_workload_tells_it(stage: Stage, owner: Person, taken: Workload) -> None:
    (story,) = selectors.taken_from_workload(owner, taken.pk)
    assert (story.by, story.rule) == ("another team", "the owner took lent quota back")
    assert (story.gpus, story.flavor, story.name, story.run) == (1, "h100", "guest", 1)
    assert timedelta(minutes=10) <= story.held < timedelta(minutes=11)
    assert story.at <= stage.clock.at
    assert "/data/ckpt" in story.lost
    markup = page(owner, f"/workloads/{taken.pk}/")
    assert "another team: the owner took lent quota back" in markup
    assert "now number 1 in its queue" in markup
    assert "confidential" not in markup
    assert "vision" not in markup


def test_the_blocker_says_the_rule_in_words(owner: Person, taken: Workload) -> None:
    blocker = selectors.explain(owner, taken.pk)["blocker"]
    assert blocker["code"] == "preempted"
    assert "the owner took lent quota back" in blocker["message"]


def test_its_history_and_its_runs_keep_it(owner: Person, taken: Workload) -> None:
    said = [selectors.sentence(one.message, one.params, "en") for one in selectors.events(owner, taken.pk)]
    assert any("Preempted by another team (the owner took lent quota back)" in line for line in said)
    (run,) = selectors.represent_runs(selectors.runs(owner, taken.pk))
    assert [(one["why"], one["by"], one["rule"]) for one in run["allocations"]] == [
        ("preempted", "another team", "InCohortReclamation")
    ]


def test_the_team_page_lists_the_last_seven_days(stage: Stage, owner: Person, taken: Workload) -> None:
    listed = page(owner, "/teams/data/").split('id="taken"')[1]
    assert f'href="/workloads/{taken.pk}/"' in listed
    assert "the owner took lent quota back" in listed
    stage.clock.move(days=7, hours=1)
    assert selectors.taken_from_team(owner, taken.tenant) == []
    assert "Nothing. Work that borrows" in page(owner, "/teams/data/")


def test_a_cohort_that_shows_its_teams_names_the_team(
    stage: Stage, owner: Person, outsider: Person, borrower: Workload
) -> None:
    Cohort.objects.update(show_teams=True)
    stage.submit(outsider, name="confidential", tenant="vision", flavor="h100", env=LONG)
    stage.run(5)
    assert selectors.taken_from_workload(owner, borrower.pk)[0].by == "vision"


def test_nobody_else_reads_it(outsider: Person, administrator: Person, taken: Workload) -> None:
    for stranger in (outsider, administrator):
        with pytest.raises(NotFound):
            selectors.taken_from_workload(stranger, taken.pk)
        with pytest.raises(NotFound):
            selectors.taken_from_team(stranger, taken.tenant)
    assert "Taken back" not in page(administrator, "/teams/data/")


def test_a_deleted_victim_is_counted_without_its_name(stage: Stage, owner: Person, taken: Workload) -> None:
    services.delete(owner, workload_id=taken.pk)
    stage.run(10)
    (story,) = selectors.taken_from_team(owner, taken.tenant)
    assert (story.name, story.kind, story.owner) == ("", "training", "olga")
    assert "guest" not in page(owner, "/teams/data/").split('id="taken"')[1].split("</section>")[0]


@pytest.mark.parametrize(
    ("kind", "path", "said"),
    [
        ("training", "", "names no checkpoint path"),
        ("training", "/ckpt", "the last checkpoint in /ckpt"),
        ("notebook", "", "not saved on its disk"),
    ],
)
def test_no_more_is_said_of_lost_work_than_is_known(stage: Stage, kind: str, path: str, said: str) -> None:
    story = selectors.Taken(
        stage.clock.at, "x", "y", "h100", 1, timedelta(), 1, stage.cluster.pk, kind, "n", "olga", path
    )
    assert said in story.lost


def test_pods_that_left_together_are_one_story(stage: Stage, owner: Person, taken: Workload) -> None:
    first = Allocation.objects.get(workload_id=taken.pk)
    first.pk, first.kueue_uid = None, "second-pod"
    first.pk = stage.cluster.pk
    first.save(force_insert=True)
    (story,) = selectors.taken_from_workload(owner, taken.pk)
    assert story.gpus == 2
