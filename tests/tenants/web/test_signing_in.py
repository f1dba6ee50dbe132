"""Signing in and out with a session; nobody learns whether a name exists."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.factories import tenants as people

PASSWORD = "a long enough secret"


@pytest.fixture
def pilar(db: None, settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick
    people.user("pilar", password=PASSWORD)


def sign_in(client: Client, username: str, password: str, **more: str) -> Any:
    return client.post("/login/", {"username": username, "password": password, **more})


@pytest.mark.parametrize("path", ["/", "/workloads/", "/new/training/", "/tokens/", "/password/", "/teams/data/"])
def test_a_stranger_is_sent_to_the_sign_in_page_and_back(db: None, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=")


def test_a_poll_of_a_stranger_reloads_the_page_instead_of_nesting_the_sign_in(db: None) -> None:
    answer = Client().get("/home/live/", headers={"HX-Request": "true"})
    assert answer.headers["HX-Refresh"] == "true"
    assert answer.content == b""


def test_the_right_password_leads_to_where_one_wanted(pilar: None) -> None:
    answer = sign_in(Client(), "pilar", PASSWORD, next="/workloads/?kind=notebook")
    assert (answer.status_code, answer["Location"]) == (302, "/workloads/?kind=notebook")


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "\\\\evil"])
def test_signing_in_leads_nowhere_else(pilar: None, elsewhere: str) -> None:
    assert sign_in(Client(), "pilar", PASSWORD, next=elsewhere)["Location"] == "/"


def test_a_wrong_name_and_a_wrong_password_look_the_same(pilar: None) -> None:
    wrong_password, wrong_name = sign_in(Client(), "pilar", "x"), sign_in(Client(), "nobody", "x")
    assert wrong_password.status_code == wrong_name.status_code == 422
    text = [
        answer.content.decode().split("</main>")[0].replace("nobody", "pilar")
        for answer in (wrong_password, wrong_name)
    ]
    assert "The username or the password is wrong." in text[0]
    assert [part.count("pilar") for part in text] == [1, 1]


def test_guessing_is_slowed_down_for_the_right_password_too(pilar: None, settings) -> None:
    settings.RATE_LIMITS = True
    client = Client()
    answers = [sign_in(client, "pilar", f"guess {n}").status_code for n in range(11)]
    assert answers[-1] == 429
    refused = sign_in(client, "pilar", PASSWORD)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0


def test_signing_out_ends_the_session(pilar: None) -> None:
    client = Client()
    sign_in(client, "pilar", PASSWORD)
    assert client.get("/").status_code == 200
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_signing_out_is_no_link(pilar: None) -> None:
    client = Client()
    sign_in(client, "pilar", PASSWORD)
    assert client.get("/logout/").status_code == 405
    assert client.get("/").status_code == 200


def test_a_form_without_its_token_is_refused_in_words(pilar: None) -> None:
    answer = sign_in(Client(enforce_csrf_checks=True), "pilar", PASSWORD)
    assert answer.status_code == 403
    assert "This form is no longer valid" in answer.content.decode()


def test_a_new_password_ends_other_sessions_and_keeps_this_one(pilar: None) -> None:
    here, elsewhere = Client(), Client()
    for client in (here, elsewhere):
        sign_in(client, "pilar", PASSWORD)
    new = "another quite long secret"
    answer = here.post("/password/", {"old": PASSWORD, "new": new, "again": new})
    assert answer["Location"] == "/"
    assert here.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302
    assert sign_in(Client(), "pilar", new).status_code == 302


@pytest.mark.parametrize(
    ("old", "new", "again", "said"),
    [
        ("wrong", "another quite long secret", "another quite long secret", "This is not your present password."),
        (PASSWORD, "another quite long secret", "something else", "The two do not match."),
        (PASSWORD, "short", "short", "too short"),
    ],
)
def test_a_password_that_cannot_be_is_told_at_its_field(pilar: None, old: str, new: str, again: str, said: str) -> None:
    client = Client()
    sign_in(client, "pilar", PASSWORD)
    answer = client.post("/password/", {"old": old, "new": new, "again": again})
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert sign_in(Client(), "pilar", PASSWORD).status_code == 302
