"""A name that is free again: the new one is a workload of its own, and what the old one left stays under the old id."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from portal.kernel.actors import Person
from tests.factories import jobs
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
NOTEBOOKS, JOBS = "/api/v1/notebooks/", "/api/v1/training-jobs/"


def call(method: str, path: str, actor: Person, body: dict[str, Any] | None = None) -> Any:
    return Client().generic(
        method, path, json.dumps(body or {}), content_type="application/json", headers=people.bearer(actor)
    )


def one(path: str, actor: Person) -> Any:
    return call("GET", path, actor).json()


def listed(actor: Person, name: str) -> list[str]:
    return [row["id"] for row in one(f"/api/v1/workloads/?q={name}", actor)["results"]]


def shown(actor: Person, path: str) -> str:
    return people.signed_in(actor).get(path).content.decode()


def test_a_finished_job_keeps_what_it_had_when_its_name_runs_again(stage: Stage, owner: Person) -> None:
    made = []
    for word in ("first", "second"):
        body = jobs.request("training", name="nightly", env={"TURNO_SIM_SECONDS": "2", "ROUND": word})
        answer = call("POST", JOBS, owner, body)
        assert answer.status_code == 201, answer.content
        made.append(answer.json()["id"])
        stage.run(6)
    assert set(listed(owner, "nightly")) == set(made)
    for mine, word in zip(made, ("first", "second"), strict=True):
        path = f"{JOBS}{mine}/"
        assert (one(path, owner)["state"], one(path, owner)["env"]["ROUND"]) == ("succeeded", word)
        runs, events = one(f"{path}runs/", owner), one(f"{path}events/", owner)
        assert [run["number"] for run in runs["results"]] == [1]
        assert len(runs["results"][0]["allocations"]) == 1
        told = [event["reason"] for event in events["results"]]
        assert told.count("accepted") == 1
        other = next(other for other in made if other != mine)
        assert other not in json.dumps(events)
        assert other not in json.dumps(one(f"{path}manifests/", owner))


def test_a_name_is_taken_until_the_old_one_is_gone_three_times_over(stage: Stage, owner: Person) -> None:
    before: list[str] = []
    for _ in range(3):
        answer = call("POST", NOTEBOOKS, owner, jobs.request("notebook", name="lab"))
        assert answer.status_code == 201, answer.content
        mine = answer.json()["id"]
        stage.run(4)
        assert one(f"{NOTEBOOKS}{mine}/", owner)["state"] == "running"
        assert listed(owner, "lab") == [mine]
        assert shown(owner, "/").count(f'href="/workloads/{mine}/"') == 1
        assert call("DELETE", f"{NOTEBOOKS}{mine}/", owner).status_code == 202
        refused = call("POST", NOTEBOOKS, owner, jobs.request("notebook", name="lab"))
        assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")
        assert mine in refused.content.decode()
        stage.run(40)
        before.append(mine)
        assert [call("GET", f"{NOTEBOOKS}{old}/", owner).status_code for old in before] == [404] * len(before)
        assert listed(owner, "lab") == []
