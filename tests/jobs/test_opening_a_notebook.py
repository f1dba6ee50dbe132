"""The way into a notebook: a ticket for its owner, once, for 30 s; a session that ends with the right."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from pytest_django.fixtures import Settings

from jobs import selectors, services, transitions
from jobs.models import ConnectTicket, Workload
from jobs.states import Reason
from portal.kernel.actors import Machine, Person
from portal.kernel.errors import Conflict, Denied, NotFound
from portal.kernel.transaction import transaction
from tenants.models import Membership, User
from tests.conftest import FrozenClock
from tests.factories import jobs
from tests.factories.quotas import Lab
from tests.jobs.opening import SESSION, logged_in, opened

pytestmark = pytest.mark.django_db


@pytest.fixture
def notebook(owner: Person, room: Lab, frozen: FrozenClock) -> Workload:
    """A running one, whose owner is logged in."""
    logged_in(frozen)
    jobs.with_gateway(room.cluster)
    row = jobs.submitted(owner, "notebook")
    with transaction():
        transitions.move(row, reason=Reason.READY, now=frozen.at)
    return row


def test_the_owner_gets_in(owner: Person, notebook: Workload) -> None:
    ticket, host = opened(owner, notebook)
    assert host == f"lab-{notebook.pk.hex[-10:]}.localhost"
    cookie = services.trade_ticket(ticket, host=host)
    assert cookie is not None
    allowed = services.connect_allowed(cookie, host=host)
    assert allowed is not None
    assert allowed.workload_id == notebook.pk
    assert allowed.authorization.startswith("token ")


def test_neither_ticket_nor_cookie_is_kept(owner: Person, notebook: Workload) -> None:
    ticket, host = opened(owner, notebook)
    cookie = services.trade_ticket(ticket, host=host)
    kept = str(list(ConnectTicket.objects.values()))
    assert ticket not in kept
    assert cookie is not None
    assert cookie not in kept


def test_a_ticket_is_good_once(owner: Person, notebook: Workload) -> None:
    ticket, host = opened(owner, notebook)
    assert services.trade_ticket(ticket, host=host)
    assert services.trade_ticket(ticket, host=host) is None


def test_a_ticket_is_good_for_thirty_seconds(owner: Person, notebook: Workload, frozen: FrozenClock) -> None:
    ticket, host = opened(owner, notebook)
    frozen.move(seconds=30)
    assert services.trade_ticket(ticket, host=host) is None


def test_a_ticket_is_good_at_its_own_host_alone(owner: Person, notebook: Workload) -> None:
    other = jobs.submitted(owner, "notebook", name="other")
    ticket, host = opened(owner, notebook)
    for wrong in ("", "localhost", f"other-{other.pk.hex[-10:]}.localhost", f"evil-{host}"):
        assert services.trade_ticket(ticket, host=wrong) is None
    cookie = services.trade_ticket(ticket, host=host.upper() + ":8002")
    assert cookie is not None
    assert services.connect_allowed(cookie, host=f"other-{other.pk.hex[-10:]}.localhost") is None


@pytest.mark.parametrize("text", ["", "x", "\x00", "ñ" * 300])
def test_rubbish_opens_nothing(notebook: Workload, text: str) -> None:
    host = selectors.notebook_host(notebook)
    assert services.trade_ticket(text, host=host) is None
    assert services.connect_allowed(text, host=host) is None


def test_nobody_else_gets_a_ticket(
    notebook: Workload, teammate: Person, manager: Person, viewer: Person, outsider: Person, machine: Machine
) -> None:
    for actor in (teammate, manager, viewer, machine):
        with pytest.raises(Denied):
            services.connect_ticket(actor, workload_id=notebook.pk, session=SESSION)
    with pytest.raises(NotFound):
        services.connect_ticket(outsider, workload_id=notebook.pk, session=SESSION)


def test_one_that_does_not_run_has_no_way_in(owner: Person, notebook: Workload) -> None:
    services.stop(owner, workload_id=notebook.pk)
    with pytest.raises(Conflict):
        services.connect_ticket(owner, workload_id=notebook.pk, session=SESSION)


class TestLostRight:
    @pytest.fixture
    def inside(self, owner: Person, notebook: Workload) -> tuple[str, str]:
        ticket, host = opened(owner, notebook)
        cookie = services.trade_ticket(ticket, host=host)
        assert cookie is not None
        assert services.connect_allowed(cookie, host=host)
        return cookie, host

    def test_membership(self, owner: Person, inside: tuple[str, str]) -> None:
        Membership.objects.filter(user_id=owner.id).delete()
        assert services.connect_allowed(inside[0], host=inside[1]) is None

    def test_the_account(self, owner: Person, inside: tuple[str, str]) -> None:
        User.objects.filter(pk=owner.id).update(is_active=False)
        assert services.connect_allowed(inside[0], host=inside[1]) is None

    def test_the_notebook_stops(self, owner: Person, notebook: Workload, inside: tuple[str, str]) -> None:
        services.stop(owner, workload_id=notebook.pk)
        assert services.connect_allowed(inside[0], host=inside[1]) is None

    def test_a_logout_ends_what_was_opened_and_what_was_about_to_be(
        self, owner: Person, notebook: Workload, inside: tuple[str, str]
    ) -> None:
        waiting, host = opened(owner, notebook)
        Session.objects.filter(session_key=SESSION).delete()
        assert services.connect_allowed(inside[0], host=inside[1]) is None
        assert services.trade_ticket(waiting, host=host) is None

    def test_the_portals_session_runs_out(self, inside: tuple[str, str], frozen: FrozenClock) -> None:
        Session.objects.update(expire_date=frozen.at)
        assert services.connect_allowed(inside[0], host=inside[1]) is None

    def test_twelve_hours_pass(self, inside: tuple[str, str], frozen: FrozenClock) -> None:
        frozen.move(hours=12)
        assert services.connect_allowed(inside[0], host=inside[1]) is None

    def test_the_server_key_is_gone(self, inside: tuple[str, str], settings: Settings) -> None:
        settings.TOKEN_KEYS = {"k9": "another"}
        assert services.connect_allowed(inside[0], host=inside[1]) is None


def test_old_tickets_are_forgotten(owner: Person, notebook: Workload, frozen: FrozenClock) -> None:
    opened(owner, notebook)
    frozen.move(hours=23)
    assert services.forget_old_tickets() == 0
    frozen.move(hours=2)
    assert services.forget_old_tickets() == 1
