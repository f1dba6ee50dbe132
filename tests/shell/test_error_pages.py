"""What goes wrong is said in words, in the reader's language, and gives nothing away."""

from __future__ import annotations

import pytest
from django.test import Client

from portal.kernel.actors import Person
from portal.shell import page_errors
from tests.factories import tenants as people

HIDDEN = "/workloads/01930000-0000-7000-8000-000000000000/"


@pytest.mark.parametrize(
    ("language", "said"), [("en", "There is nothing here for you"), ("es", "Aquí no hay nada para ti")]
)
def test_a_missing_page_says_so(owner: Person, language: str, said: str) -> None:
    for path in (HIDDEN, "/no/such/page/", "/new/nothing/"):
        answer = people.signed_in(owner).get(path, headers={"Accept-Language": language})
        assert answer.status_code == 404
        assert said in answer.content.decode()
        assert answer["X-Request-ID"] in answer.content.decode()


def test_a_bug_shows_a_page_that_needs_nothing(rf) -> None:
    answer = page_errors.server_error(rf.get("/"))
    page = answer.content.decode()
    assert answer.status_code == 500
    assert "Algo ha fallado en Turno" in page
    assert "Something failed in Turno" in page


def test_a_page_has_a_strict_content_security_policy(db: None) -> None:
    policy = Client().get("/login/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
