"""The owner of a notebook, logged in and on the way in."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from django.contrib.sessions.models import Session

from jobs import services
from jobs.models import Workload
from jobs.services.connect import TICKET_PARAMETER
from portal.kernel.actors import Person
from tests.conftest import FrozenClock

SESSION = "portal-session-key"


def logged_in(frozen: FrozenClock) -> None:
    """A portal session that lasts two weeks."""
    Session.objects.create(session_key=SESSION, session_data="", expire_date=frozen.at + timedelta(days=14))


def opened(owner: Person, notebook: Workload) -> tuple[str, str]:
    """The ticket and the host of a fresh way in."""
    url = urlsplit(services.connect_ticket(owner, workload_id=notebook.pk, session=SESSION))
    return parse_qs(url.query)[TICKET_PARAMETER][0], url.netloc
