"""The preview in each of its verdicts, and the explanation of what waits: exactly what the API's document says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

from portal.kernel.actors import Person
from quotas.models import Quota
from tenants.models import Tenant
from tests.factories import jobs
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "600"}
ONE = {"flavor": "h100", "gpus": 1}


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    """Those of the document, made strict: a field that is not in it is a fault."""
    found: dict[str, Any] = Client().get("/api/v1/schema/?format=json").json()["components"]["schemas"]
    for schema in found.values():
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
    return found


@pytest.fixture
def lender(stage: Stage, room: Lab, other_team: Tenant) -> Tenant:
    quota_rows.room_for(other_team, room, borrowing=None)
    Quota.objects.update(borrowing_limit=None)
    stage.furnish()
    return other_team


def faults(schemas: dict[str, Any], name: str, answer: object) -> list[str]:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
    found = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(answer)
    return [f"{error.json_path}: {error.message}" for error in found]


def dry_run(actor: Person, **changes: Any) -> dict[str, Any]:
    answer = Client().post(
        "/api/v1/training-jobs/?dry_run=true",
        json.dumps(jobs.request("training", **changes)),
        content_type="application/json",
        headers=people.bearer(actor),
    )
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize("verdict", ["starts_now", "waits", "borrows", "preempts", "never"])
def test_each_verdict_of_the_preview(
    stage: Stage, owner: Person, lender: Tenant, schemas: dict[str, Any], verdict: str
) -> None:
    held = {"borrows": 1, "waits": 2, "preempts": 1}.get(verdict, 0)
    priority = "low" if verdict == "preempts" else "normal"
    if verdict in ("waits", "preempts"):
        Quota.objects.update(borrowing_limit=0)
        stage.furnish()
    for number in range(held):
        stage.submit(owner, name=f"held-{number}", env=LONG, priority=priority, **ONE)
    answer = dry_run(owner, name="asked", **{**ONE, "gpus": 3 if verdict == "never" else 1})
    assert answer["preview"]["verdict"] == verdict
    assert faults(schemas, "DryRunAnswer", answer) == []


def test_the_limit_is_what_could_be_asked_and_not_what_was(stage: Stage, owner: Person) -> None:
    limit = dry_run(owner, **{**ONE, "gpus": 3})["preview"]["limit"]
    assert (limit["resource"], limit["gpus"]) == ("nvidia.com/gpu", 1)
    limit = dry_run(owner, **ONE, memory="900Ti")["preview"]["limit"]
    assert (limit["resource"], limit["gpus"]) == ("memory", None)


def test_before_anything_is_known_there_is_no_preview(room: Lab, owner: Person, schemas: dict[str, Any]) -> None:
    answer = dry_run(owner)
    assert answer["preview"] is None
    assert faults(schemas, "DryRunAnswer", answer) == []


def test_the_explanation_of_what_waits(stage: Stage, owner: Person, schemas: dict[str, Any]) -> None:
    rows = [stage.submit(owner, name=name, env=LONG, **ONE) for name in ("first", "second", "third")]
    paths = [f"/api/v1/training-jobs/{row.pk}/explain/" for row in rows]
    answers = [Client().get(path, headers=people.bearer(owner)).json() for path in paths]
    assert [faults(schemas, "ExplainAnswer", answer) for answer in answers] == [[], [], []]
    answer = answers[-1]
    assert answers[0]["blocker"] is None
    assert answer["blocker"]["code"] in ("waiting_for_quota", "in_line")
    assert (answer["position"]["queue"], len(answer["ahead"])) == (2, 1)
    assert answer["holders"]
    assert {way["who"] for way in answer["ways_out"]} == {"you", "manager"}


def test_a_field_that_is_not_documented_would_be_found(schemas: dict[str, Any]) -> None:
    assert faults(schemas, "DryRunAnswer", {"valid": True, "preview": {"verdict": "soon"}, "manifests": [], "x": 1})
