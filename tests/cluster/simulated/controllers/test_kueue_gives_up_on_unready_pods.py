"""waitForPodsReady: what was admitted and does not come up gives its quota back, and is tried again ever later."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from portal.cluster.simulated.objects import Obj, parse_timestamp
from tests.cluster.simulated.controllers.conftest import Cluster, condition_list, queued_job, workload_of

TIMEOUT, HOUR = 1800.0, 3600.0


@pytest.fixture
def stuck(lab: Cluster) -> Obj:
    """A job that holds quota and has no node."""
    for node in lab.store.list("Node"):
        lab.store.delete("Node", None, node["metadata"]["name"])
    made = lab.store.create(queued_job("stuck", 2))
    lab.run(5)
    return made


def status_of(lab: Cluster, job: Obj) -> dict[str, Any]:
    found: dict[str, Any] = workload_of(lab, job)["status"]
    return found


def at(status: dict[str, Any], condition: str) -> datetime:
    (found,) = [one for one in status["conditions"] if one["type"] == condition]
    return parse_timestamp(found["lastTransitionTime"])


def test_it_is_evicted_after_half_an_hour_and_not_before(lab: Cluster, stuck: Obj) -> None:
    lab.run(TIMEOUT - 30)
    assert ("Admitted", "True", "Admitted") in condition_list({"status": status_of(lab, stuck)})
    lab.run(60)
    status = status_of(lab, stuck)
    assert ("Evicted", "True", "PodsReadyTimeout") in condition_list({"status": status})
    assert ("QuotaReserved", "False", "Pending") in condition_list({"status": status})
    assert ("Requeued", "False", "PodsReadyTimeout") in condition_list({"status": status})
    assert status["schedulingStats"]["evictions"] == [
        {"count": 1, "reason": "PodsReadyTimeout", "underlyingCause": "WaitForStart"}
    ]
    assert status["requeueState"]["count"] == 1


def test_each_time_it_waits_twice_as_long_up_to_an_hour(lab: Cluster, stuck: Obj) -> None:
    waits = []
    for count in range(1, 9):
        while status_of(lab, stuck).get("requeueState", {}).get("count", 0) < count:
            lab.run(20)
        status = status_of(lab, stuck)
        waits.append((parse_timestamp(status["requeueState"]["requeueAt"]) - at(status, "Evicted")).total_seconds())
    expected = [60.0 * 2**n for n in range(6)] + [HOUR, HOUR]
    assert all(due <= wait <= due + 2 for wait, due in zip(waits, expected, strict=True)), waits


def test_meanwhile_its_quota_is_for_others_and_afterwards_it_is_tried_again(lab: Cluster, stuck: Obj) -> None:
    lab.run(TIMEOUT + 5)
    other = lab.store.create(queued_job("other", 2))
    lab.run(5)
    assert ("Admitted", "True", "Admitted") in condition_list({"status": status_of(lab, other)})
    lab.run(60)
    status = status_of(lab, stuck)
    assert "requeueAt" not in status["requeueState"]
    assert ("Requeued", "True", "BackoffFinished") in condition_list({"status": status})
    assert ("QuotaReserved", "False", "Pending") in condition_list({"status": status})


def test_what_runs_is_left_alone(lab: Cluster) -> None:
    runs = lab.store.create(queued_job("runs", 1, env={"TURNO_SIM_SECONDS": "9000"}))
    lab.run(2 * TIMEOUT)
    assert "requeueState" not in status_of(lab, runs)
