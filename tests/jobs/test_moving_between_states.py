"""The one writer of a state: the table holds, a lost race writes nothing, history and row agree."""

from __future__ import annotations

import pytest
from django.db import IntegrityError
from django.db import transaction as django_transaction

from jobs import transitions
from jobs.errors import LostRace, NotAllowed
from jobs.models import Run, Workload
from jobs.states import Reason, State
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from portal.kernel.transaction import transaction
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def row(owner: Person, room: Lab, frozen: FrozenClock) -> Workload:
    return jobs.submitted(owner)


def fresh(row: Workload) -> Workload:
    return Workload.objects.get(pk=row.pk)


def test_a_move_stamps_the_state_and_leaves_history(row: Workload, frozen: FrozenClock) -> None:
    frozen.move(seconds=5)
    with transaction():
        assert transitions.move(row, reason=Reason.WAITING_FOR_QUOTA, now=frozen.at, params={"needed": "2"})
    found = fresh(row)
    assert (found.state, found.reason, found.reason_params) == ("queued", "waiting_for_quota", {"needed": "2"})
    assert found.state_since == frozen.at
    entry = FeedEntry.objects.filter(object_id=row.pk).latest("seq")
    assert (entry.type, entry.reason, entry.params) == ("queued", "waiting_for_quota", {"needed": "2"})


def test_the_same_again_writes_nothing(row: Workload, frozen: FrozenClock) -> None:
    with transaction():
        transitions.move(row, reason=Reason.IN_LINE, now=frozen.at)
    before = fresh(row).changed_seq
    with transaction():
        assert not transitions.move(row, reason=Reason.IN_LINE, now=frozen.at)
    assert fresh(row).changed_seq == before


def test_new_values_of_the_same_reason_move_pages_and_not_history(row: Workload, frozen: FrozenClock) -> None:
    for needed in ("2", "1"):
        with transaction():
            transitions.move(row, reason=Reason.WAITING_FOR_QUOTA, now=frozen.at, params={"needed": needed})
    types = FeedEntry.objects.filter(object_id=row.pk).order_by("seq").values_list("type", flat=True)
    assert list(types) == ["submitted", "queued", "changed"]


def test_a_move_that_the_table_lacks_is_refused(row: Workload, frozen: FrozenClock) -> None:
    with transaction(), pytest.raises(NotAllowed):
        transitions.move(row, reason=Reason.DELETED, now=frozen.at)
    assert fresh(row).state == "submitted"


def test_whoever_read_an_older_row_loses(row: Workload, frozen: FrozenClock) -> None:
    older = fresh(row)
    with transaction():
        transitions.move(row, reason=Reason.IN_LINE, now=frozen.at)
    with pytest.raises(LostRace), transaction():
        transitions.move(older, reason=Reason.READY, now=frozen.at)
    with pytest.raises(LostRace), transaction():
        transitions.amend(older, changes={"quota_held": True})
    assert (fresh(row).state, fresh(row).quota_held) == ("queued", False)


def test_final_states_say_when(row: Workload, frozen: FrozenClock) -> None:
    with transaction():
        transitions.move(row, reason=Reason.COMPLETED, now=frozen.at, changes={"exit_code": 0})
    assert (fresh(row).finished_at, fresh(row).exit_code) == (frozen.at, 0)


class TestRuns:
    def test_the_first_outcome_stands(self, row: Workload, frozen: FrozenClock) -> None:
        run = Run.objects.get(workload=row)
        assert transitions.close_run(run, outcome="failed", reason=Reason.EXIT_CODE, now=frozen.at, exit_code=7)
        assert not transitions.close_run(run, outcome="succeeded", reason=Reason.COMPLETED, now=frozen.at, exit_code=0)
        found = Run.objects.get(workload=row)
        assert (found.outcome, found.exit_code) == ("failed", 7)

    def test_the_database_refuses_a_second_open_run(self, row: Workload, frozen: FrozenClock) -> None:
        with pytest.raises(IntegrityError), django_transaction.atomic():
            transitions.open_run(row, number=2, now=frozen.at)

    def test_a_new_run_starts_clean(self, row: Workload, frozen: FrozenClock) -> None:
        with transaction():
            transitions.close_run(
                Run.objects.get(workload=row), outcome="failed", reason=Reason.EXIT_CODE, now=frozen.at
            )
            changes = {"exit_code": 7, "preemptions": 2, "started_at": frozen.at}
            transitions.move(row, reason=Reason.EXIT_CODE, now=frozen.at, changes=changes)
            run = transitions.new_run(row, now=frozen.at)
        found = fresh(row)
        assert (run.number, found.run_number, found.state) == (2, 2, State.SUBMITTED)
        assert (found.exit_code, found.preemptions, found.started_at, found.finished_at) == (None, 0, None, None)

    def test_the_first_admission_and_start_stand(self, row: Workload, frozen: FrozenClock) -> None:
        first = frozen.at
        transitions.stamp_run(Run.objects.get(workload=row), admitted_at=first, started_at=first)
        later = frozen.move(seconds=60)
        transitions.stamp_run(Run.objects.get(workload=row), admitted_at=later, started_at=later)
        found = Run.objects.get(workload=row)
        assert (found.admitted_at, found.started_at) == (first, first)


def test_history_outside_of_a_transaction_is_an_error(row: Workload, frozen: FrozenClock) -> None:
    with pytest.raises(RuntimeError):
        transitions.tell(row, entry="change", message="x")
