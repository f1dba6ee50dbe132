"""Bearer tokens and sessions: what is wrong with a credential is said, never the credential itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from tests.factories import tenants as people

pytestmark = pytest.mark.django_db
ME = "/api/v1/me/"


def ask(header: str) -> tuple[int, str]:
    answer = Client().get(ME, headers={"Authorization": header})
    return answer.status_code, answer.json().get("code", "")


@pytest.fixture
def secret(owner) -> str:
    return people.token(user_id=owner.id)[1]


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case_and_white_space_around_is_dropped(secret, scheme) -> None:
    assert ask(f"{scheme} {secret}")[0] == 200
    assert ask(f"{scheme}  {secret} ")[0] == 200


@pytest.mark.parametrize(
    "shape", ["Token {}", 'Bearer "{}"', "Bearer {}\u200b", "Bearer", "Bearer {} {}", "Bearer " + "x" * 10_000, "{}"]
)
def test_a_malformed_header_is_401_and_told_apart(secret, shape) -> None:
    header = shape.format(secret, secret).encode().decode("latin-1")
    status, code = ask(header)
    assert (status, code) == (401, "malformed_token")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda secret: secret[:-3], "a part of it is missing"),
        (lambda secret: f"{secret}0", "something was added"),
        (lambda secret: "ghp_0123456789abcdef", "start with “turno_”"),
    ],
)
def test_a_cut_or_foreign_token_is_said_to_be_unknown(secret, given, told) -> None:
    answer = Client().get(ME, headers={"Authorization": f"Bearer {given(secret)}", "Accept-Language": "en"})
    assert answer.status_code == 401
    assert answer.json()["detail"].startswith("This token is not known here")
    assert told in answer.json()["detail"]


def test_unknown_and_expired_tokens_are_told_apart_and_never_echoed(owner, secret) -> None:
    assert ask("Bearer turno_" + "x" * 43) == (401, "unknown_token")
    _, old = people.token(user_id=owner.id, lives=timedelta(days=-1))
    answer = Client().get(ME, headers={"Authorization": f"Bearer {old}"})
    assert answer.json()["code"] == "expired_token"
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert old not in answer.content.decode()


def test_a_token_in_the_address_is_not_read(secret) -> None:
    assert Client().get(f"{ME}?token={secret}").status_code == 401


def test_a_token_without_the_write_scope_reads_only(rest, owner, room, job) -> None:
    reader = rest(owner, scopes=("read",))
    assert reader.get("/me/").status_code == 200
    answer = reader.post("/training-jobs/", job)
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


def test_a_session_needs_its_csrf_token_to_write(owner, room, job) -> None:
    browser = people.signed_in(owner, enforce_csrf=True)
    assert browser.get(ME).json()["username"] == "olga"
    answer = browser.post("/api/v1/training-jobs/", job, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")


def test_a_bad_token_is_not_rescued_by_a_session(owner) -> None:
    browser = people.signed_in(owner)
    assert browser.get(ME, headers={"Authorization": "Bearer nonsense"}).status_code == 401


def test_me_lists_the_teams_with_their_roles(rest, owner, administrator, machine) -> None:
    assert rest(owner).get("/me/").json() == {
        "username": "olga",
        "is_admin": False,
        "tenants": [{"slug": "data", "name": "Data", "role": "member"}],
    }
    assert rest(administrator).get("/me/").json() == {"username": "ada", "is_admin": True, "tenants": []}
    assert rest(machine).get("/me/").json()["tenants"][0]["role"] == "member"
