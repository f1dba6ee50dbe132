"""(record, observation, now) -> verdict: where an open run stands. Pure; the same answer for the same mirror."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from jobs.decide import ending
from jobs.decide.verdict import FAILED, Record, Verdict
from jobs.observe import Admission, Observation, Pod, Waiting
from jobs.states import EXPLANATIONS, Reason, State

# A pod that just failed is the Job's to judge; its verdict comes a moment later.
LOOK_AGAIN = 2.0


def standing(record: Record, seen: Observation, now: datetime) -> Verdict:
    """Whatever the kind: an end first, then what will never run, then the queue, then readiness."""
    if seen.job is not None and (seen.job.complete or seen.job.failed):
        return ending.job_ended(record, seen, seen.job, now)
    ended = _deactivated(record, seen)
    if ended is not None:
        return ended
    lost = ending.hopeless(record, seen.live_pods)
    if lost is not None and not (record.kind == "endpoint" and any(seen.ready(pod) for pod in seen.pods)):
        return lost
    if seen.job is None and seen.controller is None:
        return Verdict()
    if record.kind == "endpoint":
        return _endpoint(record, seen)
    return _gang(record, seen)


def _deactivated(record: Record, seen: Observation) -> Verdict | None:
    for one in seen.admissions:
        if one.waiting is not None and EXPLANATIONS[one.waiting.reason].state is State.FAILED:
            params = dict(one.waiting.params)
            if one.waiting.reason is Reason.DEADLINE_EXCEEDED:
                params["seconds"] = str(record.max_duration)
            return Verdict(one.waiting.reason, params, outcome=FAILED)
    return None


def _gang(record: Record, seen: Observation) -> Verdict:
    """A Job or a StatefulSet: all admitted pods together."""
    queued = _queued(seen.admissions)
    if queued is not None:
        return queued
    wanted = seen.pods_admitted or record.pods
    done = [pod for pod in seen.pods if seen.ready(pod) or pod.phase == "Succeeded"]
    if len(done) >= wanted:
        return Verdict(Reason.READY, started_at=_last(pod.ready_since for pod in done))
    if seen.job is not None and any(pod.phase == "Failed" for pod in seen.pods):
        return Verdict(look_again=LOOK_AGAIN)
    return _starting(record, seen, ready=len(done), wanted=wanted)


def _queued(admissions: tuple[Admission, ...]) -> Verdict | None:
    """Waiting for quota; None where quota is held and admitted."""
    if not admissions:
        return Verdict(Reason.IN_LINE)
    waiting = [one for one in admissions if one.waiting is not None and not one.finished]
    if not waiting or any(one.admitted and one.evicted is None for one in admissions):
        return None
    return _told(waiting[0].waiting)


def _told(waiting: Waiting | None) -> Verdict:
    if waiting is None:
        return Verdict(Reason.IN_LINE)
    return Verdict(waiting.reason, dict(waiting.params), preemptor=waiting.preemptor)


def _endpoint(record: Record, seen: Observation) -> Verdict:
    """A Deployment: one Kueue Workload per pod; one ready replica is enough to run."""
    ready = [pod for pod in seen.pods if seen.ready(pod)]
    wanted = seen.controller.desired if seen.controller else record.pods
    if ready:
        started = min((pod.ready_since for pod in ready if pod.ready_since), default=None)
        if len(ready) >= wanted:
            return Verdict(Reason.READY, started_at=started)
        told = {"ready": len(ready), "desired": wanted, "queued": replicas_queued(seen)}
        return Verdict(Reason.REPLICAS_WAITING, told, started_at=started)
    if wanted == 0:
        return Verdict(Reason.SCALED_TO_ZERO)
    queued = _queued(seen.admissions)
    if queued is not None:
        return queued
    return _starting(record, seen, ready=0, wanted=wanted)


def replicas_queued(seen: Observation) -> int:
    """Replicas that wait for quota."""
    holding = {one.owner_uid for one in seen.admissions if one.held}
    return sum(1 for pod in seen.live_pods if pod.gated and pod.uid not in holding)


def _starting(record: Record, seen: Observation, *, ready: int, wanted: int) -> Verdict:
    """Admitted and not ready: the most telling of what its pods say."""
    pods = seen.live_pods
    for explain in (_node_silent, _nowhere, _restarting, _pulling):
        verdict = explain(record, seen, pods)
        if verdict is not None:
            return verdict
    if record.kind == "endpoint":
        return Verdict(Reason.NO_REPLICA_READY)
    return Verdict(Reason.PODS_NOT_READY, {"ready": ready, "pods": wanted})


def _node_silent(record: Record, seen: Observation, pods: tuple[Pod, ...]) -> Verdict | None:
    for pod in pods:
        if seen.silent(pod):
            node = (seen.nodes or {}).get(pod.node)
            at = node.since if node else None
            return Verdict(Reason.NODE_STATE_UNKNOWN, {"node": pod.node, "since": stamp(at) if at else "–"})
    return None


def _nowhere(record: Record, seen: Observation, pods: tuple[Pod, ...]) -> Verdict | None:
    texts = [pod.unschedulable for pod in pods if pod.unschedulable]
    return Verdict(Reason.NO_NODE_FITS, {"text": texts[0]}) if texts else None


def _restarting(record: Record, seen: Observation, pods: tuple[Pod, ...]) -> Verdict | None:
    for pod in pods:
        for one in pod.containers:
            last = one.ended or one.ended_before
            if one.restarts and not one.ready and last is not None:
                why = last.reason if last.killed_for_memory else f"exit code {last.code}"
                told = {"container": one.name, "pod": pod.name, "why": why, "times": one.restarts}
                return Verdict(Reason.CONTAINER_RESTARTING, told)
    return None


def _pulling(record: Record, seen: Observation, pods: tuple[Pod, ...]) -> Verdict | None:
    for pod in pods:
        if any(one.waiting == "ErrImagePull" for one in pod.containers):
            return Verdict(Reason.PULLING_IMAGE, {"image": record.image})
    return None


def _last(moments: Iterable[datetime | None]) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


def stamp(moment: datetime) -> str:
    """A time inside a sentence: RFC 3339 in UTC, whole seconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
