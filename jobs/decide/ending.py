"""Why something ended: which pod, which container, with what. The first cause that explains most wins."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from jobs.decide.verdict import FAILED, SUCCEEDED, Record, Verdict
from jobs.observe import Container, Ended, JobStatus, Observation, Pod
from jobs.observe.pods import NEEDS_ROOT, PULL_FAILED
from jobs.states import Reason

# A Job's end and its pods' come by different streams: the cause is awaited this long.
AWAIT_PODS = timedelta(seconds=10)
LOOK_AGAIN = 1.0
MOST_RESTARTS = 5
# What a container ends with that was told to go, or was made to: SIGTERM and SIGKILL.
TOLD_TO_GO = (143, 137)


def job_ended(record: Record, seen: Observation, job: JobStatus, now: datetime) -> Verdict:
    """The verdict on a Job that is Complete or Failed."""
    ended = [pod for pod in seen.pods if pod.over]
    expected = job.succeeded if job.complete else 1
    patient = job.finished_at is None or now - job.finished_at < AWAIT_PODS
    if len(ended) < expected and patient and not _gone(seen, job):
        return Verdict(look_again=LOOK_AGAIN)
    verdict = _completed(record, seen) if job.complete else _failed(record, seen, job)
    return Verdict(
        verdict.reason,
        verdict.params,
        outcome=SUCCEEDED if job.complete else FAILED,
        exit_code=verdict.exit_code,
        finished_at=job.finished_at or now,
    )


def _gone(seen: Observation, job: JobStatus) -> bool:
    """Nobody waits for pods of a Job that never had any."""
    return job.failed and not seen.pods and job.failures == 0


def _completed(record: Record, seen: Observation) -> Verdict:
    for pod in seen.pods:
        for container in pod.containers:
            if any(one.killed_for_memory for one in container.ends):
                return Verdict(Reason.COMPLETED_WITH_KILLS, _killed(record, pod, container), exit_code=0)
    return Verdict(Reason.COMPLETED, exit_code=0)


def _failed(record: Record, seen: Observation, job: JobStatus) -> Verdict:
    cause = cause_of(record, [pod for pod in seen.pods if pod.phase == "Failed"] or seen.pods)
    if cause is not None:
        return cause
    if (lost := _lost_node(record, seen)) is not None:
        return lost
    if job.failure == "DeadlineExceeded":
        return Verdict(Reason.DEADLINE_EXCEEDED, {"seconds": record.max_duration})
    return Verdict(Reason.UNKNOWN_FAILURE, {"text": job.failure_text or job.failure})


def _lost_node(record: Record, seen: Observation) -> Verdict | None:
    """Its pods are gone with their node."""
    there = {pod.name for pod in seen.pods}
    for pod, node in record.placed.items():
        if pod not in there and seen.node_silent(node):
            return Verdict(Reason.NODE_FAILURE, {"node": node, "pod": pod})
    return None


def cause_of(record: Record, pods: Iterable[Pod]) -> Verdict | None:
    """Why pods failed: memory, then the node, then the exit code, then who deleted them. None: they say nothing."""
    found = list(pods)
    for find in (_memory, _disruption, _exit, _deleted):
        for pod in found:
            verdict = find(record, pod)
            if verdict is not None:
                return verdict
    return None


def _memory(record: Record, pod: Pod) -> Verdict | None:
    for container in pod.containers:
        for one in container.ends:
            if one.killed_for_memory:
                return Verdict(Reason.OUT_OF_MEMORY, _killed(record, pod, container), exit_code=one.code)
    return None


def _disruption(record: Record, pod: Pod) -> Verdict | None:
    if pod.evicted:
        return Verdict(Reason.POD_EVICTED, {"pod": pod.name, "text": pod.message})
    if pod.disrupted or pod.reason == "NodeLost":
        return Verdict(Reason.NODE_FAILURE, {"node": pod.node, "pod": pod.name})
    return None


def _exit(record: Record, pod: Pod) -> Verdict | None:
    for container in pod.containers:
        one = container.ended
        if one is not None and one.code != 0 and not _told_to_go(pod, one):
            told = {"container": container.name, "pod": pod.name}
            if one.reason in ("StartError", "ContainerCannotRun"):
                text = container.waiting_text or pod.message or one.reason
                return Verdict(Reason.CONTAINER_CONFIG, told | {"text": text}, exit_code=one.code)
            return Verdict(Reason.EXIT_CODE, told | {"code": one.code}, exit_code=one.code)
    return None


def _told_to_go(pod: Pod, end: Ended) -> bool:
    """Its pod is being deleted: a job's others when one has failed, or all of them when their namespace goes."""
    return pod.deleting and end.code in TOLD_TO_GO


def _deleted(record: Record, pod: Pod) -> Verdict | None:
    if any(container.ended is not None and _told_to_go(pod, container.ended) for container in pod.containers):
        return Verdict(Reason.POD_DELETED, {"pod": pod.name})
    return None


def _killed(record: Record, pod: Pod, container: Container) -> dict[str, object]:
    return {"container": container.name, "pod": pod.name, "limit": record.memory}


def hopeless(record: Record, pods: Iterable[Pod]) -> Verdict | None:
    """A pod that will never run as it is: no image, a root image, a container that keeps ending."""
    for pod in pods:
        for container in pod.containers:
            verdict = _hopeless(record, pod, container)
            if verdict is not None:
                return Verdict(verdict.reason, verdict.params, outcome=FAILED, exit_code=verdict.exit_code)
    return None


def _hopeless(record: Record, pod: Pod, container: Container) -> Verdict | None:
    if container.waiting in PULL_FAILED:
        told = {"image": container.image or record.image, "text": container.waiting_text}
        return Verdict(Reason.IMAGE_PULL, told)
    if container.waiting in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
        if any(words in container.waiting_text for words in NEEDS_ROOT):
            return Verdict(Reason.IMAGE_NEEDS_ROOT, {"text": container.waiting_text})
        if container.waiting != "CreateContainerConfigError":
            told = {"container": container.name, "text": container.waiting_text}
            return Verdict(Reason.CONTAINER_CONFIG, told)
    if container.waiting == "CrashLoopBackOff" and container.restarts >= MOST_RESTARTS:
        return cause_of(record, [_as_ended(pod, container)])
    return None


def _as_ended(pod: Pod, container: Container) -> Pod:
    """The pod with the last end of its restarting container as if it were the end."""
    last: Ended | None = container.ended_before
    closed = Container(**{**vars(container), "ended": last})
    return Pod(**{**vars(pod), "containers": (closed,)})
