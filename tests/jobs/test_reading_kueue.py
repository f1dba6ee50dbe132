"""Kueue's Workloads in both dialects, with the words that Kueue was heard to say."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.observe.kueue import admission, pending
from jobs.observe.seen import Seen, when
from jobs.states import Reason
from tests.jobs.mirrored import AT, BEYOND, NEEDS_ONE, PREEMPTED, admitted, condition, workload

MANY = (
    "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor t-1g, previously "
    "considered podsets requests (0) + current podset request (1) > maximum capacity (0), insufficient unused quota "
    "for nvidia.com/gpu in flavor t-h100, 2 more needed"
)
ONLY_OTHERS_HAVE = MANY.replace("t-1g", "X").replace("t-h100", "t-1g").replace("X", "t-h100")


@pytest.mark.parametrize(
    ("reason", "message", "expected", "params"),
    [
        (
            "Pending",
            NEEDS_ONE,
            Reason.WAITING_FOR_QUOTA,
            {"resource": "nvidia.com/gpu", "flavor": "t-h100", "needed": "1"},
        ),
        (
            "WaitingForQuota",
            NEEDS_ONE,
            Reason.WAITING_FOR_QUOTA,
            {"resource": "nvidia.com/gpu", "flavor": "t-h100", "needed": "1"},
        ),
        ("Pending", MANY, Reason.WAITING_FOR_QUOTA, {"resource": "nvidia.com/gpu", "flavor": "t-h100", "needed": "2"}),
        ("Pending", ONLY_OTHERS_HAVE, Reason.EXCEEDS_MAXIMUM, {"resource": "nvidia.com/gpu", "flavor": "t-h100"}),
        ("Pending", BEYOND, Reason.EXCEEDS_MAXIMUM, {"resource": "nvidia.com/gpu", "flavor": "t-h100"}),
        ("ExceedsMaxQuota", "too much", Reason.EXCEEDS_MAXIMUM, {"text": "too much"}),
        ("Pending", f"{NEEDS_ONE}. Pending the preemption of 1 workload(s)", Reason.WAITING_FOR_PREEMPTED, {}),
        ("WaitingForPreemptedWorkloads", "x", Reason.WAITING_FOR_PREEMPTED, {"text": "x"}),
        (
            "Inadmissible",
            "LocalQueue nowhere doesn't exist",
            Reason.QUEUE_MISSING,
            {"text": "LocalQueue nowhere doesn't exist"},
        ),
        (
            "Inadmissible",
            "ClusterQueue t-a is inactive",
            Reason.QUEUE_STOPPED,
            {"text": "ClusterQueue t-a is inactive"},
        ),
        ("Suspended", "held", Reason.QUEUE_STOPPED, {"text": "held"}),
        ("Misconfigured", "no flavor", Reason.QUEUE_MISSING, {"text": "no flavor"}),
        ("Pending", "Workload no longer fits after processing another workload", Reason.IN_LINE, {}),
        ("PendingEvaluation", "", Reason.IN_LINE, {}),
        (
            "NoMatchingFlavor",
            "flavor t-h100 doesn't match node affinity",
            Reason.WAITING_UNKNOWN,
            {"text": "flavor t-h100 doesn't match node affinity"},
        ),
        ("SomethingNew", "words of tomorrow", Reason.WAITING_UNKNOWN, {"text": "words of tomorrow"}),
        ("SomethingNew", "", Reason.WAITING_UNKNOWN, {"text": "SomethingNew"}),
    ],
)
def test_why_there_is_no_quota(reason: str, message: str, expected: Reason, params: dict[str, str]) -> None:
    found = pending(reason, message, "t-h100")
    assert (found.reason, dict(found.params)) == (expected, params)


def test_one_without_conditions_is_in_line() -> None:
    found = admission(workload())
    assert found.waiting is not None
    assert found.waiting.reason is Reason.IN_LINE
    assert not found.held


def test_an_admitted_one_holds_whole_units_since_the_clusters_time() -> None:
    found = admission(admitted(count=2))
    assert (found.held, found.admitted, found.waiting, found.pods) == (True, True, None, 2)
    assert found.reserved_at == when(AT)
    assert found.units == {("t-h100", "nvidia.com/gpu"): 1, ("t-cpu", "cpu"): 3, ("t-cpu", "memory"): 8 * 1024**3}


def test_a_reservation_without_admission_waits_for_a_check() -> None:
    check = condition("Admitted", true=False, reason="UnsatisfiedAdmissionChecks", message="waiting for nodes")
    found = admission(workload(condition("QuotaReserved"), check))
    assert found.held
    assert not found.admitted
    assert found.waiting is not None
    assert (found.waiting.reason, dict(found.waiting.params)) == (
        Reason.ADMISSION_CHECK_PENDING,
        {"text": "waiting for nodes"},
    )


def test_a_finished_one_gave_its_quota_back_when_it_finished() -> None:
    done = condition("Finished", reason="Succeeded", at="2026-12-01T08:59:30Z")
    found = admission(workload(condition("QuotaReserved"), condition("Admitted"), done))
    assert (found.held, found.finished) == (False, True)
    assert found.reserved_at == when(AT)
    assert found.released_at == when("2026-12-01T08:59:30Z")


class TestEviction:
    def test_a_preempted_one_tells_rule_and_preemptor(self) -> None:
        conditions = (
            condition("QuotaReserved", true=False, reason="Pending", message=NEEDS_ONE),
            condition("Evicted", reason="Preempted", message=PREEMPTED),
            condition("Preempted", reason="InCohortReclamation", message=PREEMPTED),
        )
        found = admission(workload(*conditions))
        assert found.waiting is not None
        assert found.waiting.reason is Reason.PREEMPTED
        assert found.waiting.params == {"rule": "InCohortReclamation"}
        assert found.waiting.preemptor == "b4a4c68e"

    def test_while_it_is_being_stopped_it_still_holds(self) -> None:
        evicted = condition("Evicted", reason="Preempted", message=PREEMPTED)
        found = admission(workload(condition("QuotaReserved"), condition("Admitted"), evicted))
        assert found.held
        assert found.waiting is not None
        assert found.waiting.reason is Reason.PREEMPTED

    def test_an_old_eviction_counts_no_more(self) -> None:
        old = condition("Evicted", true=False, reason="Preempted", message=f"Previously: {PREEMPTED}")
        assert admission(workload(condition("QuotaReserved"), condition("Admitted"), old)).waiting is None

    @pytest.mark.parametrize(
        ("reason", "expected"),
        [
            ("PodsReadyTimeout", Reason.EVICTED),
            ("AdmissionCheck", Reason.EVICTED),
            ("ClusterQueueStopped", Reason.QUEUE_STOPPED),
            ("LocalQueueStopped", Reason.QUEUE_STOPPED),
            ("NodeFailures", Reason.NODE_LOST_REQUEUED),
            ("CauseOfTomorrow", Reason.EVICTED),
        ],
    )
    def test_every_other_cause(self, reason: str, expected: Reason) -> None:
        evicted = condition("Evicted", reason=reason, message="words")
        found = admission(workload(condition("QuotaReserved", true=False), evicted))
        assert found.waiting is not None
        assert found.waiting.reason is expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Deactivated", Reason.DEACTIVATED),
        ("DeactivatedDueToMaximumExecutionTimeExceeded", Reason.DEADLINE_EXCEEDED),
        ("DeactivatedDueToRequeuingLimitExceeded", Reason.REQUEUED_TOO_OFTEN),
    ],
)
def test_a_deactivated_one_does_not_come_back(reason: str, expected: Reason) -> None:
    conditions = (condition("QuotaReserved", true=False), condition("Evicted", reason=reason, message="words"))
    found = admission(workload(*conditions, active=False))
    assert found.waiting is not None
    assert found.waiting.reason is expected


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"status": None},
        {"status": {"conditions": "x"}},
        {"status": {"conditions": [None, 7, {"type": 5}]}},
        {
            "status": {
                "conditions": [{"type": "QuotaReserved", "status": "True"}],
                "admission": {"podSetAssignments": [{}]},
            }
        },
        {
            "status": {
                "conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "soon"}],
                "admission": {
                    "podSetAssignments": [{"flavors": {"a": "b"}, "resourceUsage": {"a": "lots"}, "count": "2"}]
                },
            }
        },
    ],
)
def test_odd_data_reads_as_nothing(data: dict[str, Any]) -> None:
    found = admission(Seen("Workload", "x", "u", data=data))
    assert found.units == {}
    assert found.pods == 0
