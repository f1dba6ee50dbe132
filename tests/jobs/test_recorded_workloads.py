"""What a real Kueue was heard to say of its Workloads, read as the reconciler reads it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from jobs.observe.kueue import admission
from jobs.observe.pods import pod
from jobs.observe.seen import Seen
from jobs.states import Reason

WIRE = Path(__file__).parents[2].parent / "shared" / "cases" / "kubernetes" / "wire.jsonl"


@cache
def recorded() -> dict[str, dict[str, Any]]:
    if not WIRE.is_file():
        pytest.skip("the recordings are not beside this checkout")
    rows = [json.loads(line) for line in WIRE.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows if "response" in row}


def seen(name: str) -> Seen:
    body = recorded()[name]["response"]
    metadata = body["metadata"]
    return Seen(body["kind"], metadata["name"], metadata["uid"], data=body)


@pytest.mark.parametrize(
    ("name", "reason", "params"),
    [
        (
            "workload-pending",
            Reason.WAITING_FOR_QUOTA,
            {"resource": "nvidia.com/gpu", "flavor": "t-h200", "needed": "1"},
        ),
        ("workload-exceeds-maximum", Reason.EXCEEDS_MAXIMUM, {"resource": "nvidia.com/gpu", "flavor": "t-h200"}),
        ("workload-no-localqueue", Reason.QUEUE_MISSING, {"text": "LocalQueue nowhere doesn't exist"}),
        ("workload-in-held-queue", Reason.QUEUE_STOPPED, {"text": "ClusterQueue t-a is inactive"}),
        ("workload-preempted", Reason.PREEMPTED, {"rule": "InCohortReclamation"}),
        ("workload-deactivated", Reason.DEACTIVATED, {"text": "The workload is deactivated"}),
    ],
)
def test_why_it_waits(name: str, reason: Reason, params: dict[str, str]) -> None:
    found = admission(seen(name), "t-h200")
    assert not found.held
    assert found.waiting is not None
    assert (found.waiting.reason, dict(found.waiting.params)) == (reason, params)


def test_an_admitted_one_holds_a_card_until_it_finishes() -> None:
    held, over = admission(seen("workload-admitted")), admission(seen("workload-finished"))
    assert (held.held, held.admitted, held.waiting) == (True, True, None)
    assert held.units["t-h200", "nvidia.com/gpu"] == 1
    assert (over.held, over.finished) == (False, True)
    assert over.reserved_at == held.reserved_at
    assert over.released_at is not None
    assert held.reserved_at is not None
    assert over.released_at > held.reserved_at


def test_the_six_steps_of_a_preemption_hold_quota_until_the_last_pod_is_gone() -> None:
    if not WIRE.is_file():
        pytest.skip("the recordings are not beside this checkout")
    rows = [json.loads(line) for line in WIRE.read_text(encoding="utf-8").splitlines()]
    events = next(row for row in rows if row["id"] == "watch-workloads-reclaim")["events"]
    steps = [admission(Seen("Workload", "b2", "u", data=event["object"])) for event in events]
    assert [step.held for step in steps] == [True, True, False, False, False, False]
    assert all(step.waiting is not None and step.waiting.reason is Reason.PREEMPTED for step in steps)


def test_a_running_pod() -> None:
    found = pod(seen("pod-running"))
    assert (found.ready, found.node, found.phase, found.gated) == (True, "gpu-2", "Running", False)
    assert [one.name for one in found.containers] == ["main"]


def test_a_pod_that_kueue_holds_back() -> None:
    item = recorded()["statefulset-pods"]["response"]["items"][0]
    found = pod(Seen("Pod", item["metadata"]["name"], item["metadata"]["uid"], data=item))
    assert (found.gated, found.ready, found.unschedulable, found.node) == (True, False, "", "")
