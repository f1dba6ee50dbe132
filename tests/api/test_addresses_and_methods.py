"""Whatever is asked below /api/: problem+json, never a page, never a redirect that loses a body."""

from __future__ import annotations

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db
ID = "01890000-0000-7000-8000-000000000000"


WITHOUT_LAST_SLASH = [
    ("POST", "/api/v1/training-jobs"),
    ("PATCH", f"/api/v1/training-jobs/{ID}"),
    ("DELETE", f"/api/v1/training-jobs/{ID}"),
    ("POST", f"/api/v1/training-jobs/{ID}/stop"),
    ("GET", "/api/v1/workloads?state=running"),
]


@pytest.mark.parametrize(("method", "path"), WITHOUT_LAST_SLASH)
def test_a_missing_last_slash_is_told_the_right_address(rest, owner, method, path) -> None:
    answer = rest(owner).call(method, path.removeprefix("/api/v1"), {} if method != "GET" else None)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert f"{path.partition('?')[0]}/" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *WITHOUT_LAST_SLASH,
        ("PUT", "/api/v1/training-jobs/"),
        ("POST", "/api/v1//training-jobs/"),
        ("GET", "/api/v1/ME/"),
    ],
)
def test_without_a_token_it_is_a_problem_too_and_never_a_redirect(method, path) -> None:
    answer = Client().generic(method, path, b"{}", content_type="application/json")
    assert answer.status_code in (401, 404, 405)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert "Location" not in answer.headers


@pytest.mark.parametrize("path", ["/api/v2/", "/api/v1//me/", "/API/v1/me/x", "/api/v1/ME/", "/api/", "/api/v1/nope/"])
def test_unknown_addresses_are_problems(path) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    if path.startswith("/api/"):
        assert answer.headers["Content-Type"] == "application/problem+json"


def test_an_unknown_host_is_a_problem() -> None:
    answer = Client().get("/api/v1/me/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_a_wrong_method_is_405_with_the_right_ones(rest, owner) -> None:
    answer = rest(owner).call("PUT", "/training-jobs/", {})
    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["Allow"].replace(" ", "").split(","))
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_html_is_never_answered_whatever_accept_says(rest, owner) -> None:
    answer = rest(owner).get("/me/", Accept="text/html")
    assert answer.headers["Content-Type"] == "application/json"


def test_sentences_follow_accept_language_and_the_persons_choice_wins(rest, owner) -> None:
    spanish = rest(owner).get("/nope/", **{"Accept-Language": "es"})
    assert spanish.json()["title"] == "No encontrado"
    from tenants.models import User  # noqa: PLC0415  the person's own row

    User.objects.filter(pk=owner.id).update(language="en")
    assert rest(owner).get("/workloads/?page_size=0", **{"Accept-Language": "es"}).json()["title"].startswith("The")


def test_the_answer_carries_the_requests_id(rest, owner) -> None:
    assert rest(owner).get("/me/", **{"X-Request-ID": "build-4711-a"}).headers["X-Request-ID"] == "build-4711-a"
    assert len(rest(owner).get("/me/", **{"X-Request-ID": "no spaces allowed"}).headers["X-Request-ID"]) == 32
