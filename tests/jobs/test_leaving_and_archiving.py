"""Work goes on when its owner leaves the team, and its timeline says so; it is stopped when the team is archived."""

from __future__ import annotations

import pytest

from jobs import selectors, tasks
from jobs.models import Workload
from portal.audit.models import AuditEvent
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import NotFound
from portal.kernel.models import Work
from tenants import services as tenants
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab


def told(actor: Person, row: Workload) -> list[tuple[str, dict[str, object]]]:
    return [(entry.type, entry.params) for entry in selectors.events(actor, row.pk) if entry.type == "owner_left"]


def leave(manager: Person, owner: Person) -> None:
    tenants.remove_member(manager, slug="data", username=owner.username)
    tasks.tell_of_departure(str(owner.id))


def test_the_timeline_says_that_the_owner_left_and_the_work_goes_on(
    room: Lab, owner: Person, manager: Person, frozen: FrozenClock
) -> None:
    row = jobs.submitted(owner)
    leave(manager, owner)
    assert told(manager, row) == [("owner_left", {"username": "olga"})]
    row.refresh_from_db()
    assert row.state == "submitted"
    with pytest.raises(NotFound):
        selectors.workload(owner, row.pk)


def test_it_is_said_once_a_run(room: Lab, owner: Person, manager: Person, frozen: FrozenClock) -> None:
    row = jobs.submitted(owner)
    leave(manager, owner)
    tenants.add_member(manager, slug="data", username="olga", role="member")
    leave(manager, owner)
    assert len(told(manager, row)) == 1


def test_work_of_others_and_of_machines_is_not_spoken_of(
    room: Lab, owner: Person, teammate: Person, machine: Machine, manager: Person, frozen: FrozenClock
) -> None:
    rows = [jobs.submitted(teammate, name="theirs"), jobs.submitted(machine, name="ci")]
    leave(manager, owner)
    assert [told(manager, row) for row in rows] == [[], []]


def test_leaving_wakes_whoever_tells_of_it(room: Lab, owner: Person, manager: Person, frozen: FrozenClock) -> None:
    tenants.remove_member(manager, slug="data", username="olga")
    assert Work.objects.filter(kind="departure", object_id=owner.id).exists()


def test_an_archived_teams_work_is_stopped_by_the_sweep(
    room: Lab, owner: Person, administrator: Person, frozen: FrozenClock
) -> None:
    row = jobs.submitted(owner)
    assert tasks.enforce_deadlines() == 0
    tenants.change_tenant(administrator, slug="data", state="archived")
    assert tasks.enforce_deadlines() == 1
    row.refresh_from_db()
    assert (row.state, row.wanted, row.wanted_by_type) == ("stopping", "stop", "system")
    assert AuditEvent.objects.filter(verb="workload.stop", actor_type="system").count() == 1
    assert tasks.enforce_deadlines() == 0


def test_a_suspended_teams_work_goes_on(room: Lab, owner: Person, administrator: Person, frozen: FrozenClock) -> None:
    row = jobs.submitted(owner)
    tenants.change_tenant(administrator, slug="data", state="suspended")
    assert tasks.enforce_deadlines() == 0
    row.refresh_from_db()
    assert row.state == "submitted"
