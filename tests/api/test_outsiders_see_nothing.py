"""Every route of the URLconf, every method, every role that is not in the team: nothing leaks, 404 as for a missing id.

The table is made from the URLconf itself, so a new route is in it the moment it exists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from jobs import services
from jobs.models import Workload
from tests.factories import tenants as people

pytestmark = pytest.mark.django_db

CANARY = "canary-7f3a"
MISSING = "01890000-0000-7000-8000-00000000dead"
PER_REQUEST = re.compile(r"\b([0-9a-f]{32}|[A-Za-z0-9]{64})\b")  # request id, masked CSRF token
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Routes with an id or a slug that are not a team's: what everybody logged in may read.
OPEN_TO_ALL = ("healthz", "readyz", "metrics", "schema/", "docs/", "login/", "preferences/", "connect/check/")
SHARED = ("flavors/", "images/", "new/", "admin/")


def routes(resolver: URLResolver | None = None, prefix: str = "/") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every route as its pattern and the kinds of its converters."""
    for found in (resolver or get_resolver()).url_patterns:
        pattern = prefix + str(found.pattern).removeprefix("^")
        if isinstance(found, URLResolver):
            yield from routes(found, pattern)
        elif isinstance(found, URLPattern) and "admin/" not in pattern:
            yield pattern, {name: type(c).__name__ for name, c in found.pattern.converters.items()}


ROUTES = sorted(dict(routes()).items())
WITH_OBJECT = [(p, c) for p, c in ROUTES if c and not any(part in p for part in SHARED)]


@pytest.fixture
def theirs(owner, room, job) -> Workload:
    """A workload of the team, whose every text is a canary."""
    body = {**job, "name": CANARY, "project": CANARY, "description": CANARY, "env": {"SECRET": CANARY}}
    return services.submit(owner, kind="training", data=body)


def filled(pattern: str, converters: dict[str, Any], values: dict[str, str]) -> str:
    for name, kind in converters.items():
        for spelled in (f"<{kind.removesuffix('Converter').lower()}:{name}>", f"<str:{name}>", f"<slug:{name}>"):
            pattern = pattern.replace(spelled, values.get(name, values["id"] if kind == "UUIDConverter" else name))
    return pattern


def existing(row: Workload) -> dict[str, str]:
    return {"id": str(row.pk), "slug": "data", "username": "olga", "workload_id": str(row.pk), "kind": "training"}


def missing() -> dict[str, str]:
    return {"id": MISSING, "slug": "nobody", "username": "nobody", "workload_id": MISSING, "kind": "training"}


def comparable(answer: Any, path: str) -> tuple[int, str]:
    text = answer.content.decode() if not answer.streaming else ""
    return answer.status_code, PER_REQUEST.sub("", text.replace(path, "PATH"))


def ask(client: Client, method: str, path: str) -> Any:
    return client.generic(method, path, json.dumps({}).encode(), content_type="application/json")


@pytest.mark.parametrize(("pattern", "converters"), WITH_OBJECT, ids=[p for p, _ in WITH_OBJECT])
def test_a_foreign_object_answers_as_a_missing_one(theirs, outsider, administrator, pattern, converters) -> None:
    theirs_path, missing_path = (filled(pattern, converters, values) for values in (existing(theirs), missing()))
    for actor in (outsider, administrator, people.person(people.user("stranger"))):
        administers = actor.is_admin and ("/tenants/" in pattern or "/teams/" in pattern)
        client = people.signed_in(actor)
        client.raise_request_exception = False
        for method in METHODS:
            seen, none = ask(client, method, theirs_path), ask(client, method, missing_path)
            told = f"{actor.label}: {method} {theirs_path}: {seen.status_code}"
            assert CANARY not in (b"" if seen.streaming else seen.content).decode(), told
            assert seen.status_code < 500, told
            if administers:
                continue
            assert comparable(seen, theirs_path) == comparable(none, missing_path), told
            assert seen.status_code in (404, 405), told


def test_no_list_or_page_shows_a_canary_to_an_outsider(theirs, outsider) -> None:
    client = people.signed_in(outsider)
    client.raise_request_exception = False
    for pattern in (p for p, c in ROUTES if not c):
        for query in ("", "?tenant=data", "?q=canary", "?owner=olga", "?tenant="):
            answer = client.get(f"{pattern}{query}")
            assert answer.status_code < 500, f"{pattern}{query}"
            text = b"" if answer.streaming else answer.content
            assert CANARY.encode() not in text, f"{pattern}{query}"
            assert str(theirs.pk).encode() not in text, f"{pattern}{query}"


def test_nobody_known_is_sent_to_log_in(theirs) -> None:
    for pattern, converters in ROUTES:
        if any(part in pattern for part in OPEN_TO_ALL):
            continue
        answer = Client(raise_request_exception=False).get(filled(pattern, converters, existing(theirs)))
        expected = (401, 405) if pattern.startswith("/api/") else (302, 401, 405)
        assert answer.status_code in expected, f"{pattern}: {answer.status_code}"
        assert CANARY.encode() not in answer.content, pattern


def test_what_the_team_sees_is_not_404(theirs, owner, teammate, manager, viewer, machine, rest) -> None:
    for actor in (owner, teammate, manager, viewer, machine):
        answer = rest(actor).get(f"/training-jobs/{theirs.pk}/")
        assert answer.status_code == 200, actor.label
        assert answer.json()["name"] == CANARY


def test_a_person_taken_out_of_their_only_team_sees_nothing_and_submits_nothing(
    rest, owner, manager, theirs, job
) -> None:
    mine = rest(owner)
    assert mine.get("/workloads/").json()["results"]
    assert rest(manager).delete("/tenants/data/members/olga/").status_code == 204
    for path in ("/workloads/", "/training-jobs/", "/workloads/?tenant=data", "/workloads/?tenant=", "/tenants/"):
        assert mine.get(path).json()["results"] == [], path
    assert mine.get(f"/training-jobs/{theirs.pk}/").status_code == 404
    assert mine.post(f"/training-jobs/{theirs.pk}/stop/").status_code == 404
    refused = mine.post("/training-jobs/", job)
    assert refused.status_code == 422
    assert [e["field"] for e in refused.json()["errors"]] == ["tenant"]
    nowhere = mine.post("/training-jobs/", {**job, "tenant": "no-such-team"})
    assert nowhere.json()["errors"] == refused.json()["errors"]


def test_the_session_of_a_person_without_a_team_shows_nobodys_work(rest, owner, manager, theirs) -> None:
    browser = people.signed_in(owner)
    assert CANARY in browser.get("/workloads/").content.decode()
    assert rest(manager).delete("/tenants/data/members/olga/").status_code == 204
    for path in ("/", "/workloads/", "/workloads/table/", "/queue/", "/new/training/"):
        answer = browser.get(path)
        assert answer.status_code == 200, path
        assert CANARY not in answer.content.decode(), path
    assert str(theirs.pk) not in browser.get(f"/workloads/?q={CANARY}").content.decode()
    assert "You are in no team yet" in browser.get("/").content.decode()
    for path in (f"/workloads/{theirs.pk}/", f"/workloads/{theirs.pk}/live/", "/teams/data/"):
        assert browser.get(path).status_code == 404, path
    for verb in ("stop", "delete", "start"):
        assert browser.post(f"/workloads/{theirs.pk}/{verb}/").status_code == 404, verb
    assert Workload.objects.get(pk=theirs.pk).wanted == "run"
