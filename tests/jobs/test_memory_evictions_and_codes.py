"""A container killed for memory, a pod evicted by its node, a plain code: each is told as what it was, to CI too."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import Workload
from portal.kernel.actors import Person
from portal.kernel.models import FeedEntry
from tests.factories import tenants as people
from tests.jobs.stage import Stage

pytestmark = pytest.mark.django_db
LONG = {"TURNO_SIM_SECONDS": "3000"}


def running(stage: Stage, owner: Person, **changes: Any) -> Workload:
    row = stage.submit(owner, env=LONG, **changes)
    stage.run(8)
    assert stage.reason(row) == ("running", "ready")
    return row


def end(stage: Stage, pod: str, **how: Any) -> None:
    stage.control("POST", f"/pods/turno-data/{pod}/end", how)
    stage.run(6)


def polled(owner: Person, row: Workload) -> dict[str, Any]:
    """What CI reads."""
    path = f"/api/v1/training-jobs/{row.pk}/?wait=60&for=finished"
    answer = Client().get(path, headers={**people.bearer(owner), "Accept-Language": "en"})
    assert "Turno-Wait" not in answer.headers
    found: dict[str, Any] = answer.json()
    return found


def test_a_memory_kill_that_ends_with_zero_is_no_silent_success(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    pod = stage.names("Pod")[0]
    end(stage, pod, exit="0", code=0, reason="OOMKilled")
    seen = polled(owner, row)
    assert (seen["state"], seen["reason"], seen["exit_code"]) == ("succeeded", "completed_with_kills", 0)
    for word in (pod, "main", "8Gi", "killed for memory"):
        assert word in seen["message"]
    told = FeedEntry.objects.get(object_id=row.pk, type="succeeded")
    assert (told.reason, told.params["pod"]) == ("completed_with_kills", pod)


@pytest.mark.parametrize("code", [0, 137])
def test_an_eviction_by_the_node_is_no_success_whatever_the_code(stage: Stage, owner: Person, code: int) -> None:
    row = running(stage, owner)
    pod = stage.names("Pod")[0]
    end(stage, pod, exit="evict", code=code)
    seen = polled(owner, row)
    assert (seen["state"], seen["reason"], seen["exit_code"]) == ("failed", "pod_evicted", None)
    assert pod in seen["message"]
    assert stage.runs(row) == [(1, "failed", None)]


def test_an_evicted_one_is_tried_again_where_that_was_asked(stage: Stage, owner: Person) -> None:
    row = running(stage, owner, retries=1)
    end(stage, stage.names("Pod")[0], exit="evict", code=0)
    stage.run(8)
    assert stage.runs(row) == [(1, "failed", None), (2, "", None)]
    assert stage.reason(row) == ("running", "ready")


def test_one_pod_of_four_is_named(stage: Stage, owner: Person) -> None:
    row = running(stage, owner, framework="indexed", nodes=4, flavor="cpu", gpus=0)
    pods = stage.names("Pod")
    assert len(pods) == 4
    end(stage, pods[3], exit="oom")
    seen = polled(owner, row)
    assert (seen["state"], seen["reason"], seen["exit_code"]) == ("failed", "out_of_memory", 137)
    assert pods[3] in seen["message"]
    assert "-r1-3-" in pods[3]
    assert stage.names("Pod") == [] or not stage.now(row).quota_held


def test_a_plain_137_is_not_claimed_to_be_memory(stage: Stage, owner: Person) -> None:
    row = running(stage, owner)
    end(stage, stage.names("Pod")[0], exit="137")
    seen = polled(owner, row)
    assert (seen["state"], seen["reason"], seen["exit_code"]) == ("failed", "exit_code", 137)
    assert "exit code 137" in seen["message"]
    assert "memory" not in seen["message"]
