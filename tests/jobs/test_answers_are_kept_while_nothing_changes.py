"""What was worked out for one reader serves the next, and never outlives what it was made from."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import selectors, services
from jobs.models import Workload
from portal.cluster.models import MirrorObject, MirrorStream
from portal.kernel.actors import Person
from quotas import planning
from quotas.models import Quota
from quotas.planning.mirrored import KEPT, Memory
from tenants.models import Tenant
from tests.factories import cluster as clusters
from tests.factories import jobs
from tests.factories import quotas as quota_rows
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "6000"}


@pytest.fixture
def neighbours(stage: Stage, room: Lab, other_team: Tenant) -> Tenant:
    """Another team of the cohort, with a card of its own."""
    quota_rows.room_for(other_team, room)
    stage.furnish()
    return other_team


@pytest.fixture
def runs(stage: Stage, owner: Person, neighbours: Tenant) -> Workload:
    """It holds the team's only card."""
    return job(stage, owner, "runs")


@pytest.fixture
def waits(stage: Stage, owner: Person, runs: Workload) -> Workload:
    """Behind it; and everything that can be asked has been asked."""
    row = job(stage, owner, "waits")
    ask(owner, row)
    return row


def job(stage: Stage, actor: Person, name: str, **changes: Any) -> Workload:
    row = stage.submit(actor, name=name, flavor="h100", env=LONG, **changes)
    stage.run(1)
    return row


def ask(actor: Person, row: Workload) -> tuple[Any, Any, list[tuple[str, int]], str]:
    """Its places, what can be had of what it needs, the names and places in the queue, and a preview's verdict."""
    told = selectors.explain(actor, row.pk)
    (line,) = selectors.lines(actor)
    named = [(one.workload.name if one.workload else one.team, one.place) for one in line.places]
    body = jobs.request(name="asking", flavor="h100", tenant=row.tenant.slug)
    preview = services.preview(actor, kind="training", data=body).preview
    assert preview is not None
    available = told["blocker"]["available"] if told["blocker"] else None
    return told["position"], available, named, preview["verdict"]


def afresh(stage: Stage) -> planning.Standing:
    """What a process says that has answered nothing before."""
    return Memory().standing(stage.cluster.pk)


def same(one: planning.Standing, other: planning.Standing) -> bool:
    """Whether two standings say the same of everybody."""
    return one.lines == other.lines and one.specs == other.specs and one.hasty == other.hasty


def test_while_nothing_changes_one_query_answers(stage: Stage, waits: Workload, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        kept = planning.standing(stage.cluster.pk)
    assert same(kept, afresh(stage))


def test_how_old_it_is_and_what_time_it_is_are_never_kept(stage: Stage, waits: Workload) -> None:
    stage.clock.move(seconds=90)
    clusters.synced(stage.cluster, "Workload")
    state = planning.standing(stage.cluster.pk)
    assert state.as_of == stage.clock.at
    assert state.now >= stage.clock.at.timestamp()
    MirrorStream.objects.filter(kind="Workload").update(synced_at=None)
    assert planning.standing(stage.cluster.pk).as_of is None


def test_a_new_request_is_in_the_next_answer(stage: Stage, owner: Person, waits: Workload) -> None:
    assert ask(owner, waits)[2] == [("waits", 1)]
    job(stage, owner, "later")
    position, _, line, _ = ask(owner, waits)
    assert line == [("waits", 1), ("later", 2)]
    assert position == {"queue": 1, "queue_length": 2, "cohort": 1}


def test_an_ended_run_is_gone_from_the_next_answer(
    stage: Stage, owner: Person, runs: Workload, waits: Workload
) -> None:
    assert ask(owner, waits)[3] == "waits"
    services.stop(owner, workload_id=waits.pk)
    services.stop(owner, workload_id=runs.pk)
    stage.run(8)
    (line,) = selectors.lines(owner)
    assert line.places == ()
    assert ask(owner, waits)[3] == "starts_now"


def test_a_priority_edit_moves_it_in_the_next_answer(
    stage: Stage, owner: Person, manager: Person, waits: Workload
) -> None:
    later = job(stage, owner, "later")
    assert ask(owner, later)[2] == [("waits", 1), ("later", 2)]
    services.change(manager, workload_id=waits.pk, data={"priority": "low"})
    stage.run(2)
    assert ask(owner, later)[2] == [("later", 1), ("waits", 2)]


def test_a_change_of_quota_is_in_the_next_answer(stage: Stage, owner: Person, waits: Workload, room: Lab) -> None:
    assert ask(owner, waits)[3] == "waits"
    services.stop(owner, workload_id=waits.pk)
    stage.run(3)
    Quota.objects.filter(tenant__slug="data", flavor=room.whole).update(nominal=3)
    stage.furnish()
    assert ask(owner, waits)[3] == "starts_now"


def test_what_another_team_does_is_in_the_next_answer(
    stage: Stage, owner: Person, outsider: Person, waits: Workload
) -> None:
    assert ask(owner, waits)[2] == [("waits", 1)]
    job(stage, outsider, "theirs", tenant="vision")
    behind = job(stage, outsider, "behind", tenant="vision")
    assert ask(owner, waits)[2] == [("waits", 1), ("another team", 2)]
    services.stop(outsider, workload_id=behind.pk)
    stage.run(3)
    assert ask(owner, waits)[2] == [("waits", 1)]


def test_only_rows_that_changed_are_read_again(stage: Stage, owner: Person, waits: Workload) -> None:
    memory = Memory()
    before = memory.standing(stage.cluster.pk)
    job(stage, owner, "later")
    after = memory.standing(stage.cluster.pk)
    key = before.waiting("turno-data")[0].key
    assert after.members[key] is before.members[key]
    assert same(after, afresh(stage))


def test_whoever_learns_late_whose_it_is_is_read_again(stage: Stage, waits: Workload) -> None:
    """The mirror may hear of a Kueue Workload before it hears of its Job."""
    memory = Memory()
    row = MirrorObject.objects.get(kind="Workload", workload_id=waits.pk)
    MirrorObject.objects.filter(pk=row.pk).update(workload_id=None)
    clusters.changed(stage.cluster, "Workload")
    key = f"{row.namespace}/{row.name}"
    assert memory.standing(stage.cluster.pk).members[key].workload_id is None
    MirrorObject.objects.filter(kind="Job", workload_id=waits.pk).delete()
    stage.forget()
    stage.look()
    assert memory.standing(stage.cluster.pk).members[key].workload_id == waits.pk


def test_a_back_off_that_ends_by_itself_ends_in_the_next_answer(stage: Stage, owner: Person) -> None:
    """Nothing changes on the cluster when the time of a back-off is over."""
    job(stage, owner, "evicted")
    stage.control("PUT", "/kueue", {"runs": False})
    row = MirrorObject.objects.get(kind="Workload")
    again = (stage.clock.at + timedelta(minutes=30)).isoformat().replace("+00:00", "Z")
    waits = {**row.data, "status": {"requeueState": {"count": 1, "requeueAt": again}}}
    MirrorObject.objects.filter(pk=row.pk).update(data=waits, state="pending", resource_version="99999999")
    clusters.changed(stage.cluster, "Workload")
    assert planning.standing(stage.cluster.pk).hasty == frozenset()
    stage.clock.move(minutes=29)
    assert planning.standing(stage.cluster.pk).hasty == frozenset()
    stage.clock.move(minutes=1)
    assert planning.standing(stage.cluster.pk).hasty == {f"{row.namespace}/{row.name}"}


def test_it_is_made_anew_now_and_then_and_after_a_clock_was_put_back(stage: Stage, waits: Workload) -> None:
    memory = Memory()
    first = memory.standing(stage.cluster.pk)
    assert memory.standing(stage.cluster.pk).engine is first.engine
    stage.clock.move(seconds=-30)
    second = memory.standing(stage.cluster.pk)
    assert second.engine is not first.engine
    stage.clock.move(seconds=KEPT.total_seconds())
    assert memory.standing(stage.cluster.pk).engine is not second.engine


def test_questions_leave_what_is_kept_as_it_was(stage: Stage, owner: Person, waits: Workload) -> None:
    before = planning.standing(stage.cluster.pk)
    usage = before.engine.usage("turno-data")
    for priority in ("low", "high"):
        body = jobs.request(name="asking", flavor="h100", priority=priority)
        services.preview(owner, kind="training", data={**body, "priority": "normal"})
    ask(owner, waits)
    after = planning.standing(stage.cluster.pk)
    assert after.engine is before.engine
    assert after.engine.usage("turno-data") == usage
    assert after.engine.pending_order("turno-data") == [before.waiting("turno-data")[0].key]
