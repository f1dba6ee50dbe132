"""(record, observation, now) -> verdict, a line per case."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jobs.decide import Record, Verdict, replicas_queued, standing
from jobs.observe import Observation
from jobs.states import Reason
from tests.jobs.mirrored import (
    AT,
    NEEDS_ONE,
    NOW,
    admitted,
    condition,
    container,
    ended,
    job,
    keeper,
    node,
    pending,
    pod,
    record,
    run_of,
    workload,
)

COMPLETE = condition("Complete", reason="CompletionsReached")
FAILED = condition("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")


def said(seen: Observation, told: Record | None = None) -> Verdict:
    return standing(told or record(), seen, NOW)


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return container(state={"waiting": {"reason": reason, "message": message}})


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (run_of(), None),
        (run_of(job()), Reason.IN_LINE),
        (run_of(job(), kueue=(pending(NEEDS_ONE),)), Reason.WAITING_FOR_QUOTA),
        (run_of(job(), kueue=(admitted(),)), Reason.PODS_NOT_READY),
        (run_of(job(), pod(), kueue=(admitted(),)), Reason.PODS_NOT_READY),
        (run_of(job(), pod(ready=True), kueue=(admitted(),)), Reason.READY),
        (run_of(job(), pod(phase="Succeeded"), kueue=(admitted(),)), Reason.READY),
        (run_of(job(), pod(phase="Failed"), kueue=(admitted(),)), None),
        (run_of(job(), pod(ready=True), kueue=(admitted(count=2),)), Reason.PODS_NOT_READY),
        (run_of(job(), pod("a", ready=True), pod("b", ready=True), kueue=(admitted(count=2),)), Reason.READY),
        (run_of(job(), pod("a", ready=True), pod("b", phase="Succeeded"), kueue=(admitted(count=2),)), Reason.READY),
        (run_of(job(), pod(run=2, ready=True), kueue=(admitted(),)), Reason.PODS_NOT_READY),
        (run_of(job(), pod("a", waiting("ErrImagePull")), kueue=(admitted(),)), Reason.PULLING_IMAGE),
    ],
)
def test_a_job_on_its_way(seen: Observation, reason: Reason | None) -> None:
    found = said(seen)
    assert found.reason is reason
    assert found.outcome == ""


def test_partial_admission_needs_only_the_admitted_pods() -> None:
    seen = run_of(job(), pod("a", ready=True), pod("b", ready=True), kueue=(admitted(count=2),))
    assert said(seen, record(pods=4)).reason is Reason.READY


def test_it_started_when_its_last_pod_was_ready() -> None:
    found = said(run_of(job(), pod(ready=True), kueue=(admitted(),)))
    assert found.started_at is not None
    assert found.started_at.isoformat() == AT.replace("Z", "+00:00")


class TestEnds:
    def test_complete(self) -> None:
        found = said(run_of(job(COMPLETE, succeeded=1), pod(phase="Succeeded"), kueue=(admitted(),)))
        assert (found.reason, found.outcome, found.exit_code) == (Reason.COMPLETED, "succeeded", 0)

    def test_complete_although_something_was_killed(self) -> None:
        killed = container(state=ended(0, "OOMKilled"))
        found = said(run_of(job(COMPLETE, succeeded=1), pod("a", killed, phase="Succeeded"), kueue=(admitted(),)))
        assert (found.reason, found.outcome) == (Reason.COMPLETED_WITH_KILLS, "succeeded")
        assert found.params == {"container": "main", "pod": "a", "limit": "8Gi"}

    @pytest.mark.parametrize(
        ("status", "changes", "reason", "code"),
        [
            (ended(7), {}, Reason.EXIT_CODE, 7),
            (ended(137), {}, Reason.EXIT_CODE, 137),
            (ended(137, "OOMKilled"), {}, Reason.OUT_OF_MEMORY, 137),
            (ended(0, "OOMKilled"), {}, Reason.OUT_OF_MEMORY, 0),
            (ended(0), {"reason": "Evicted", "message": "low on disk"}, Reason.POD_EVICTED, None),
            (ended(143), {"deleting": True}, Reason.POD_DELETED, None),
            (ended(137), {"deleting": True}, Reason.POD_DELETED, None),
            (ended(7), {"deleting": True}, Reason.EXIT_CODE, 7),
            (ended(128, "StartError"), {}, Reason.CONTAINER_CONFIG, 128),
            (ended(0), {"reason": "NodeLost"}, Reason.NODE_FAILURE, None),
            (
                ended(143),
                {"conditions": (condition("DisruptionTarget", reason="DeletionByTaintManager"),)},
                Reason.NODE_FAILURE,
                None,
            ),
        ],
    )
    def test_failed(self, status: dict[str, Any], changes: dict[str, Any], reason: Reason, code: int | None) -> None:
        failed = pod("a", container(state=status), phase="Failed", **changes)
        found = said(run_of(job(FAILED, failed=1), failed, kueue=(admitted(),)))
        assert (found.reason, found.outcome, found.exit_code) == (reason, "failed", code)

    def test_the_pod_that_failed_is_named_among_those_that_did_not(self) -> None:
        pods = [pod(f"p{n}", container(state=ended(0, "Completed")), phase="Succeeded") for n in range(3)]
        bad = pod("p9", container(state=ended(3)), phase="Failed")
        found = said(run_of(job(FAILED, failed=1), *pods, bad, kueue=(admitted(count=4),)))
        assert found.params == {"container": "main", "pod": "p9", "code": 3}

    def test_pods_that_went_because_another_failed_are_not_the_cause(self) -> None:
        gone = [pod(f"p{n}", container(state=ended(143)), phase="Failed", deleting=True) for n in range(3)]
        bad = pod("p9", container(state=ended(3)), phase="Failed")
        found = said(run_of(job(FAILED, failed=4), *gone, bad, kueue=(admitted(count=4),)))
        assert (found.reason, found.params["pod"]) == (Reason.EXIT_CODE, "p9")

    def test_the_cause_is_awaited_for_a_moment_and_not_for_ever(self) -> None:
        seen = run_of(job(FAILED, failed=1), pod(phase="Running"), kueue=(admitted(),))
        assert seen.job is not None
        recent = replace(seen, job=replace(seen.job, finished_at=NOW - timedelta(seconds=3)))
        assert said(recent).reason is None
        assert said(recent).look_again == 1.0
        assert said(seen).reason is Reason.UNKNOWN_FAILURE

    def test_pods_that_went_with_their_node(self) -> None:
        seen = run_of(job(FAILED, failed=1), kueue=(admitted(),), nodes=())
        found = said(seen, record(placed={"a": "gpu-1"}))
        assert (found.reason, found.params) == (Reason.NODE_FAILURE, {"node": "gpu-1", "pod": "a"})
        assert said(seen, record()).reason is Reason.UNKNOWN_FAILURE

    def test_a_deadline_of_kueue(self) -> None:
        evicted = condition("Evicted", reason="DeactivatedDueToMaximumExecutionTimeExceeded")
        found = said(run_of(job(), kueue=(workload(evicted, active=False),)))
        assert (found.reason, found.outcome) == (Reason.DEADLINE_EXCEEDED, "failed")
        assert found.params == {"seconds": "60"}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (waiting("ImagePullBackOff", "not found"), Reason.IMAGE_PULL),
        (waiting("InvalidImageName", "bad"), Reason.IMAGE_PULL),
        (
            waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root"),
            Reason.IMAGE_NEEDS_ROOT,
        ),
        (waiting("CreateContainerError", "no such file"), Reason.CONTAINER_CONFIG),
        (
            container(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended(1), restartCount=5),
            Reason.EXIT_CODE,
        ),
        (
            container(
                state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended(137, "OOMKilled"), restartCount=6
            ),
            Reason.OUT_OF_MEMORY,
        ),
    ],
)
def test_what_will_never_run_ends_at_once(status: dict[str, Any], reason: Reason) -> None:
    found = said(run_of(keeper("StatefulSet"), pod("a", status), kueue=(admitted(),)), record("notebook"))
    assert (found.reason, found.outcome) == (reason, "failed")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (waiting("CreateContainerConfigError", 'secret "x" not found'), Reason.PODS_NOT_READY),
        (
            container(state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState=ended(1), restartCount=2),
            Reason.CONTAINER_RESTARTING,
        ),
    ],
)
def test_what_may_still_come_right_is_told(status: dict[str, Any], reason: Reason) -> None:
    found = said(run_of(keeper("StatefulSet"), pod("a", status), kueue=(admitted(),)), record("notebook"))
    assert (found.reason, found.outcome) == (reason, "")


def test_no_node_fits() -> None:
    stuck = condition("PodScheduled", true=False, reason="Unschedulable", message="0/1 nodes are available")
    found = said(run_of(job(), pod("a", node="", conditions=(stuck,)), kueue=(admitted(),)))
    assert (found.reason, found.params) == (Reason.NO_NODE_FITS, {"text": "0/1 nodes are available"})


class TestNodes:
    def test_a_ready_pod_on_a_silent_node_is_not_running(self) -> None:
        seen = run_of(job(), pod(ready=True), kueue=(admitted(),), nodes=(node(ready=False),))
        assert (said(seen).reason, said(seen).params) == (Reason.NODE_STATE_UNKNOWN, {"node": "gpu-1", "since": AT})

    def test_nor_on_one_that_is_gone(self) -> None:
        assert said(run_of(job(), pod(ready=True), kueue=(admitted(),), nodes=())).reason is Reason.NODE_STATE_UNKNOWN

    def test_nodes_that_are_not_known_yet_say_nothing(self) -> None:
        assert said(run_of(job(), pod(ready=True), kueue=(admitted(),), nodes=None)).reason is Reason.READY


class TestEndpoint:
    def deployment(self, *pods: Any, replicas: int = 2, kueue: tuple[Any, ...] = ()) -> Verdict:
        seen = run_of(keeper("Deployment", replicas=replicas), *pods, kueue=kueue)
        return said(seen, record("endpoint", pods=replicas))

    def test_one_ready_replica_is_enough(self) -> None:
        held = admitted(owner="uid-a")
        queued = replace(pending(NEEDS_ONE), uid="kueue-2", job_uid="uid-b")
        found = self.deployment(pod("a", ready=True), pod("b", gated=True, node=""), kueue=(held, queued))
        assert found.reason is Reason.REPLICAS_WAITING
        assert found.params == {"ready": 1, "desired": 2, "queued": 1}

    def test_all_ready(self) -> None:
        assert self.deployment(pod("a", ready=True), pod("b", ready=True)).reason is Reason.READY

    def test_one_that_cannot_start_does_not_end_those_that_answer(self) -> None:
        bad = pod("b", waiting("ImagePullBackOff"))
        assert self.deployment(pod("a", ready=True), bad).reason is Reason.REPLICAS_WAITING
        assert self.deployment(bad).outcome == "failed"

    def test_none_admitted(self) -> None:
        queued = replace(pending(NEEDS_ONE), job_uid="uid-a")
        assert self.deployment(pod("a", gated=True, node=""), kueue=(queued,)).reason is Reason.WAITING_FOR_QUOTA

    def test_admitted_and_loading(self) -> None:
        assert self.deployment(pod("a"), kueue=(admitted(owner="uid-a"),)).reason is Reason.NO_REPLICA_READY

    def test_scaled_to_zero(self) -> None:
        assert self.deployment(replicas=0).reason is Reason.SCALED_TO_ZERO

    def test_who_waits_is_counted_by_what_is_held(self) -> None:
        seen = run_of(pod("a", gated=True, node=""), pod("b", gated=True, node=""), kueue=(admitted(owner="uid-a"),))
        assert replicas_queued(seen) == 1


def test_the_same_mirror_gives_the_same_verdict() -> None:
    seen = run_of(job(), pod(ready=True), kueue=(admitted(),))
    assert said(seen) == said(seen)
