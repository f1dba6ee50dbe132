"""Opening a notebook: a single-use ticket, traded at the notebook's own host for a session that ends with the right."""

from __future__ import annotations

import hashlib
import secrets as random
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.manifests import secrets
from jobs.models import ConnectTicket, Workload
from jobs.services.history import record
from jobs.services.idling import note_use
from jobs.states import State
from portal.kernel import clock
from portal.kernel.actors import Actor, Person
from portal.kernel.errors import Conflict, Denied
from portal.kernel.transaction import transaction
from tenants import authentication

TICKET_LIVES = timedelta(seconds=30)
SESSION_LIVES = timedelta(hours=12)
TICKET_PARAMETER = "turno_ticket"


@dataclass(frozen=True)
class Pass:
    """An allowed request. `authorization`: the header that the gateway adds for the notebook's own server."""

    workload_id: UUID
    authorization: str


def connect_ticket(actor: Actor, *, workload_id: UUID, session: str) -> str:
    """The address at the notebook's own host, with a ticket of 30 s. `session`: the portal session's key.

    NotFound for outsiders, Denied for everybody but the owner, Conflict `not_running` while nothing answers there.
    """
    row = selectors.workload(actor, workload_id)
    if not selectors.may(actor, row).connect:
        raise Denied(_("A notebook opens for its owner alone."))
    if row.state != State.RUNNING:
        raise Conflict(_("The notebook is not running."), code="not_running")
    assert isinstance(actor, Person)  # noqa: S101  `connect` is a person's
    ticket = random.token_urlsafe(32)
    with transaction():
        ConnectTicket.objects.create(
            workload=row,
            user_id=actor.id,
            ticket_digest=_digest(ticket),
            ticket_until=clock.now() + TICKET_LIVES,
            portal_session=session,
        )
        record(actor, row, "connect")
    return f"{row.cluster.notebook_scheme}://{selectors.notebook_host(row)}/?{TICKET_PARAMETER}={ticket}"


def trade_ticket(ticket: str, *, host: str) -> str | None:
    """The cookie's value for a fresh ticket of the notebook at `host`; None for a used, old, foreign or wrong one."""
    now = clock.now()
    fresh = ConnectTicket.objects.filter(ticket_digest=_digest(ticket), used_at=None, ticket_until__gt=now)
    found = fresh.select_related("workload__cluster", "workload__tenant").first()
    if found is None or not _at_host(found.workload, host) or not _may_still(found):
        return None
    cookie = random.token_urlsafe(32)
    taken = fresh.update(used_at=now, cookie_digest=_digest(cookie), session_until=now + SESSION_LIVES)
    return cookie if taken else None


def connect_allowed(cookie: str, *, host: str) -> Pass | None:
    """Whether this cookie opens the notebook at `host` now. The right is read each time: a lost one counts at once.

    Being asked is what is known of a notebook's use.
    """
    if not cookie:
        return None
    live = ConnectTicket.objects.filter(cookie_digest=_digest(cookie), session_until__gt=clock.now())
    found = live.select_related("workload__cluster", "workload__tenant").first()
    if found is None or not _at_host(found.workload, host) or not _may_still(found):
        return None
    row = found.workload
    note_use(row)
    derived = selectors.in_use(row) or selectors.next_key(row)
    try:
        token = secrets.token(derived, row.pk, settings.TOKEN_KEYS)
    except secrets.KeyMissing:
        return None
    return Pass(row.pk, f"token {token}")


def forget_old_tickets() -> int:
    """Removes tickets and sessions that ended more than a day ago."""
    before = clock.now() - timedelta(days=1)
    old = ConnectTicket.objects.filter(ticket_until__lt=before).exclude(session_until__gt=before)
    return old.delete()[0]


def _may_still(found: ConnectTicket) -> bool:
    """The person is still somebody, is still logged in where they came from, and it is still theirs and running."""
    row = found.workload
    person = authentication.person_by_id(found.user_id)
    if person is None or row.state != State.RUNNING or not selectors.may(person, row).connect:
        return False
    return Session.objects.filter(session_key=found.portal_session, expire_date__gt=clock.now()).exists()


def _at_host(row: Workload, host: str) -> bool:
    """The host alone: the port in front of a gateway may be another than the one that the browser sees."""
    return host.partition(":")[0].lower() == selectors.notebook_host(row).partition(":")[0].lower()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
