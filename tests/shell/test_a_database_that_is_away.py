"""A database that does not answer is a 503 that says when to come back, wherever in the request it is missed."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.test import AsyncClient, Client

from portal.shell import authentication

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Already who asks cannot be looked up."""

    def refuse(*_args: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(authentication, "identify", refuse)


def test_the_api_says_so_as_a_problem() -> None:
    answer = Client(raise_request_exception=False).get("/api/v1/me/")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"] == "2"
    assert answer.headers["Content-Type"] == "application/problem+json"


async def test_so_it_does_in_the_server_that_runs() -> None:
    answer = await AsyncClient(raise_request_exception=False).get("/api/v1/me/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")


def test_a_page_says_so_too_and_shows_no_trace() -> None:
    answer = Client(raise_request_exception=False).get("/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "locked" not in answer.content.decode()


def test_a_bug_is_still_a_500(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(authentication, "identify", broken)
    answer = Client(raise_request_exception=False).get("/api/v1/me/")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
