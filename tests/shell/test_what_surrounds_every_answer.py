"""Headers, sessions and the CSRF check around every answer, served as the real server does: in the event loop."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async
from django.contrib.sessions.models import Session
from django.test import AsyncClient

from portal.kernel.actors import Person
from tenants.models import User
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "a long enough secret"
TOKEN = "t" * 32


async def signed_in(actor: Person, *, enforce_csrf: bool = False) -> AsyncClient:
    browser = await sync_to_async(people.signed_in)(actor)
    found = AsyncClient(enforce_csrf_checks=enforce_csrf)
    found.cookies = browser.cookies
    return found


@pytest.mark.parametrize("path", ["/login/", "/healthz", "/api/v1/me/", "/nowhere/"])
async def test_every_answer_has_the_protecting_headers(path: str) -> None:
    found = await AsyncClient().get(path)
    assert found["X-Content-Type-Options"] == "nosniff"
    assert found["X-Frame-Options"] == "DENY"
    assert found["Referrer-Policy"] == "same-origin"
    assert "default-src 'none'" in found["Content-Security-Policy"]
    assert found["X-Request-ID"]


async def test_a_form_without_its_token_is_refused_and_with_it_accepted(owner: Person) -> None:
    browser = await signed_in(owner, enforce_csrf=True)
    browser.cookies["csrftoken"] = TOKEN
    assert (await browser.post("/preferences/", {"theme": "dark"})).status_code == 403
    taken = await browser.post("/preferences/", {"theme": "dark", "csrfmiddlewaretoken": TOKEN})
    assert taken.status_code == 302
    assert taken.cookies["turno_theme"].value == "dark"


async def test_a_session_begins_with_signing_in_and_ends_with_signing_out(owner: Person) -> None:
    row = await User.objects.aget(pk=owner.id)
    row.set_password(SECRET)
    await row.asave()
    browser = AsyncClient()
    sent = await browser.post("/login/", {"username": owner.username, "password": SECRET})
    assert sent.status_code == 302
    assert await Session.objects.acount() == 1
    assert (await browser.get("/")).status_code == 200
    await browser.post("/logout/")
    assert (await browser.get("/")).status_code == 302


async def test_a_page_speaks_the_language_that_the_browser_asks_for() -> None:
    found = await AsyncClient().get("/login/", headers={"accept-language": "es"})
    assert found["Content-Language"] == "es"


async def test_the_database_is_never_asked_in_the_event_loop(owner: Person) -> None:
    """Django refuses such a question by itself; every kind of answer is given without one."""
    browser = await signed_in(owner)
    for path in ("/", "/workloads/", "/api/v1/me/", "/static/nothing.css", "/api/v1/schema/"):
        assert (await browser.get(path)).status_code in (200, 404)
