"""The longest slug, the longest username and the longest name: everything runs, and no name or label is too long."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.models import RunObject, Workload
from jobs.states import State
from portal.kernel.actors import Person
from tests.factories import quotas as quota_rows
from tests.factories import tenants as people
from tests.factories.quotas import Lab
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
SLUG = "t" + "e" * 38 + "m"
NAME = "n" + "x" * 62
NAMESPACE = f"turno-{SLUG}"
KINDS = {"notebook": {}, "endpoint": {}, "training": {"framework": "indexed", "nodes": 12, "flavor": "cpu", "gpus": 0}}


@pytest.fixture
def member(stage: Stage, room: Lab) -> Person:
    team = people.tenant(SLUG, cohort="lab")
    quota_rows.room_for(team, room, slices=1)
    stage.furnish()
    return people.member(team, "u" * 60)


def texts(found: Any) -> list[str]:
    """Every label value of an object, those of its pod template included."""
    if isinstance(found, dict):
        own = [str(value) for value in (found.get("labels") or {}).values()] if "labels" in found else []
        return own + [text for value in found.values() for text in texts(value)]
    return [text for value in found for text in texts(value)] if isinstance(found, list) else []


@pytest.mark.parametrize("kind", KINDS)
def test_it_runs_and_every_name_fits(stage: Stage, member: Person, kind: str) -> None:
    row: Workload = stage.submit(member, kind, tenant=SLUG, name=NAME, **KINDS[kind])
    stage.run(8)
    assert stage.reason(row)[0] == State.RUNNING
    assert all(len(name) <= 36 for name in RunObject.objects.filter(workload=row).values_list("name", flat=True))
    seen = [
        one for of in ("Pod", "Job", "StatefulSet", "Deployment", "Service") for one in stage.objects(of, NAMESPACE)
    ]
    assert len([one for one in seen if one["kind"] == "Pod"]) == (12 if kind == "training" else 1)
    for one in seen:
        assert len(one["metadata"]["name"]) <= 63
        assert [text for text in texts(one) if len(text) > 63] == []
