"""A notebook that nobody has open stops by itself, and says beforehand how long is left."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import selectors, services, tasks, transitions
from jobs.models import ConnectTicket, Workload
from jobs.states import Reason, State
from portal.audit.models import AuditEvent
from portal.kernel.actors import Person
from portal.kernel.errors import Invalid
from portal.kernel.transaction import transaction
from tenants.models import Policy, Tenant
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.opening import SESSION, logged_in, opened
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
HALF_AN_HOUR = 1800


@pytest.fixture
def way(owner: Person, room: Lab, frozen: FrozenClock) -> None:
    logged_in(frozen)
    jobs.with_gateway(room.cluster)


def running(owner: Person, frozen: FrozenClock, **changes: object) -> Workload:
    row = jobs.submitted(owner, "notebook", **changes)
    with transaction():
        transitions.move(row, reason=Reason.READY, now=frozen.at)
    return row


def use(owner: Person, row: Workload) -> str:
    """The owner opens it; the cookie with which the gateway asks from now on."""
    ticket, host = opened(owner, row)
    cookie = services.trade_ticket(ticket, host=host)
    assert cookie is not None
    asked(cookie, row)
    return cookie


def asked(cookie: str, row: Workload) -> None:
    row.refresh_from_db()
    assert services.connect_allowed(cookie, host=selectors.notebook_host(row)) is not None


def state(row: Workload) -> tuple[str, str]:
    row.refresh_from_db()
    return row.state, row.reason


@pytest.mark.usefixtures("way")
class TestUse:
    def test_it_stops_when_nobody_has_opened_it_for_so_long(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        use(owner, row)
        frozen.move(minutes=30, seconds=59)
        assert tasks.enforce_deadlines() == 0
        frozen.move(seconds=1)
        assert tasks.enforce_deadlines() == 1
        assert state(row) == (State.STOPPING, "idle_reclaimed")
        assert row.reason_params == {"seconds": HALF_AN_HOUR}
        assert row.wanted == "stop"
        assert AuditEvent.objects.filter(target_id=str(row.pk), verb="workload.stop").get().actor_type == "system"

    def test_every_question_of_the_gateway_keeps_it(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        cookie = use(owner, row)
        for _ in range(5):
            frozen.move(minutes=20)
            asked(cookie, row)
            assert tasks.enforce_deadlines() == 0
        assert state(row)[0] == State.RUNNING

    def test_the_shortest_limit_does_not_stop_what_is_in_use(self, owner: Person, frozen: FrozenClock) -> None:
        """Use is written once a minute at most, so a row may be a minute behind."""
        row = running(owner, frozen, idle_timeout=60)
        cookie = use(owner, row)
        for _ in range(180):
            frozen.move(seconds=1)
            asked(cookie, row)
            assert tasks.enforce_deadlines() == 0

    def test_use_is_written_once_a_minute(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen)
        cookie = use(owner, row)
        frozen.move(seconds=59)
        asked(cookie, row)
        row.refresh_from_db()
        assert row.last_used_at == frozen.at - timedelta(seconds=59)
        frozen.move(seconds=1)
        asked(cookie, row)
        row.refresh_from_db()
        assert row.last_used_at == frozen.at

    def test_what_was_never_opened_is_not_measured_and_goes_on(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        frozen.move(days=2)
        assert tasks.enforce_deadlines() == 0
        assert state(row)[0] == State.RUNNING

    def test_without_a_limit_it_never_stops(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen)
        use(owner, row)
        frozen.move(days=2)
        assert tasks.enforce_deadlines() == 0

    def test_what_was_preempted_is_given_its_time_again(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        use(owner, row)
        row.refresh_from_db()
        with transaction():
            transitions.move(row, reason=Reason.PREEMPTED, now=frozen.at, params={"by": "vision", "rule": "x"})
        frozen.move(hours=3)
        with transaction():
            transitions.move(row, reason=Reason.READY, now=frozen.at)
        assert tasks.enforce_deadlines() == 0
        frozen.move(minutes=31)
        assert tasks.enforce_deadlines() == 1


@pytest.mark.usefixtures("way")
class TestLimits:
    def test_the_teams_policy_is_the_default_and_the_cap(
        self, owner: Person, team: Tenant, frozen: FrozenClock
    ) -> None:
        Policy.objects.filter(tenant=team).update(idle_timeout=HALF_AN_HOUR)
        assert running(owner, frozen).spec["idle_timeout"] == HALF_AN_HOUR
        with pytest.raises(Invalid) as refused:
            jobs.submitted(owner, "notebook", name="other", idle_timeout=HALF_AN_HOUR + 1)
        assert [fault.field for fault in refused.value.errors] == ["idle_timeout"]

    def test_a_policy_made_later_counts_from_the_next_use(
        self, owner: Person, team: Tenant, frozen: FrozenClock
    ) -> None:
        row = running(owner, frozen)
        cookie = use(owner, row)
        Policy.objects.filter(tenant=team).update(idle_timeout=HALF_AN_HOUR)
        frozen.move(minutes=5)
        asked(cookie, row)
        frozen.move(minutes=31)
        assert tasks.enforce_deadlines() == 1

    def test_it_can_be_changed_while_the_notebook_runs(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        use(owner, row)
        services.change(owner, workload_id=row.pk, data={"idle_timeout": 7200})
        frozen.move(hours=1)
        assert tasks.enforce_deadlines() == 0
        frozen.move(hours=1, minutes=1)
        assert tasks.enforce_deadlines() == 1


@pytest.mark.usefixtures("way")
class TestWhatPeopleSee:
    def test_the_page_warns_how_long_is_left(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        use(owner, row)
        browser = people.signed_in(owner)
        assert 'id="idle"' not in browser.get(f"/workloads/{row.pk}/").content.decode()
        frozen.move(minutes=21)
        page = browser.get(f"/workloads/{row.pk}/").content.decode().replace("\u00a0", " ")
        assert "Nobody has had it open for 21 min. It stops in 10 min unless it is opened" in page

    def test_the_answer_says_when_it_was_used_and_when_it_stops(self, owner: Person, frozen: FrozenClock) -> None:
        row = running(owner, frozen, idle_timeout=HALF_AN_HOUR)
        use(owner, row)
        found = selectors.represent(selectors.workload(owner, row.pk), detail=True, language="en")
        assert (found["last_used_at"], found["idle_stop_at"]) == (
            "2026-12-01T09:00:00.000Z",
            "2026-12-01T09:31:00.000Z",
        )


def test_its_pods_go_and_it_says_why_and_starts_again(stage: Stage, owner: Person) -> None:
    logged_in(stage.clock)
    row = stage.submit(owner, "notebook", idle_timeout=HALF_AN_HOUR)
    stage.run(30)
    use(owner, row)
    assert ConnectTicket.objects.filter(portal_session=SESSION).exists()
    stage.clock.move(minutes=31)
    assert tasks.enforce_deadlines() == 1
    stage.run(60)
    assert stage.reason(row) == (State.STOPPED, "stopped_idle")
    assert stage.names("Pod") == []
    services.start(owner, workload_id=row.pk)
    stage.run(30)
    assert stage.reason(row)[0] == State.RUNNING
    assert stage.now(row).last_used_at is None
