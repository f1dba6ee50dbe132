"""JSON in UTF-8 and nothing else; every fault is a problem that names it."""

from __future__ import annotations

import gzip

import pytest

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", "malformed_json"),
        (b"\xff\xfe", "malformed_json"),
        (b'{"a": NaN}', "malformed_json"),
        (b'{"name": "a", "name": "b"}', "duplicate_key"),
        (b'{"env": {"A": "1", "A": "2"}}', "duplicate_key"),
        (b'{"name": "a\\u0000b"}', "malformed_json"),
        (b'{"name": "\\ud800"}', "malformed_json"),
        (b"[" * 1_000 + b"]" * 1_000, "malformed_json"),
        (b"[" * 100_000, "malformed_json"),
    ],
)
def test_what_is_not_plain_json_is_400(rest, owner, raw, code) -> None:
    answer = rest(owner).post("/training-jobs/", raw)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_more_than_a_mebibyte_is_413(rest, owner) -> None:
    answer = rest(owner).post("/training-jobs/", b'{"name": "' + b"x" * 1_048_576 + b'"}')
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""]
)
def test_other_media_types_and_charsets_are_415(rest, owner, kind) -> None:
    assert rest(owner).post("/training-jobs/", b"{}", content_type=kind).status_code == 415


def test_a_compressed_body_is_415(rest, owner) -> None:
    answer = rest(owner).post("/training-jobs/", gzip.compress(b"{}"), **{"Content-Encoding": "gzip"})
    assert answer.status_code == 415


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
def test_a_body_that_is_no_object_is_422(rest, owner, body) -> None:
    answer = rest(owner).post("/training-jobs/", b"null" if body is None else body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "body"


def test_unknown_fields_are_refused_by_name(rest, owner, room, job) -> None:
    answer = rest(owner).post("/training-jobs/", {**job, "gpus_used": 0, "state": "running"})
    assert answer.status_code == 422
    assert {(e["field"], e["code"]) for e in answer.json()["errors"]} == {
        ("gpus_used", "unknown_field"),
        ("state", "unknown_field"),
    }


def test_who_asks_comes_before_what_is_sent(rest, owner) -> None:
    missing = "/training-jobs/01890000-0000-7000-8000-000000000000/"
    assert rest(None).patch(missing, b"{").status_code == 401
    assert rest(owner).patch(missing, b"{").status_code == 404
