"""The only writer of a workload's state and reason, and of a run's end.

A write holds only if the row is still what was read (`changed_seq`); else `LostRace`, and the caller looks again.
Every visible change leaves a row in the team's feed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import F

from jobs.errors import LostRace, NotAllowed
from jobs.models import Run, Workload
from jobs.specs import to_json
from jobs.states import EXPLANATIONS, FINAL_STATES, Reason, State, allowed, gettext_noop
from portal.kernel import feed
from portal.kernel.actors import Actor

TOPIC = "workload"
CHANGED = "changed"
STOPPED = "stopped"
LATER_RUN = gettext_noop("Run %(run)s was found on the cluster: the records were older, and go on from there.")
# What is about one run, at its beginning.
AT_THE_BEGINNING: Mapping[str, object] = {
    "wanted": "run",
    "start_requested": False,
    "exit_code": None,
    "quota_held": False,
    "nodes_admitted": 0,
    "preemptions": 0,
    "replicas_ready": 0,
    "replicas_queued": 0,
    "queued_at": None,
    "started_at": None,
    "finished_at": None,
    "deadline_at": None,
    "last_used_at": None,
    "idle_stop_at": None,
}


def move(
    workload: Workload,
    *,
    reason: Reason,
    now: datetime,
    params: Mapping[str, object] | None = None,
    by: Actor | None = None,
    changes: Mapping[str, object] | None = None,
) -> bool:
    """Brings the workload into the reason's state, with `changes` of other columns in the same write.

    False where nothing would change. NotAllowed where the table has no such move, LostRace where the row has moved on.
    """
    target, origin, values = EXPLANATIONS[reason].state, State(workload.state), dict(changes or {})
    told = dict(params or {})
    same = origin is target and workload.reason == reason
    if same and workload.reason_params == told:
        return amend(workload, changes=values)
    if origin is not target:
        if not allowed(origin, target):
            raise NotAllowed(origin, target)
        values["state_since"] = now
        if target in FINAL_STATES:
            values.setdefault("finished_at", now)
    _write(workload, {**values, "state": target.value, "reason": reason.value, "reason_params": told})
    sentence = EXPLANATIONS[reason].sentence
    if same:
        tell(workload, entry=CHANGED, message="", at=now)
    else:
        tell(workload, entry=target.value, reason=reason.value, message=sentence, params=told, by=by, at=now)
    return True


def amend(workload: Workload, *, changes: Mapping[str, object]) -> bool:
    """Writes other columns under the same guard; False where they already hold."""
    values = {name: value for name, value in changes.items() if getattr(workload, name) != value}
    if not values:
        return False
    _write(workload, values)
    tell(workload, entry=CHANGED, message="")
    return True


def _write(workload: Workload, values: Mapping[str, Any]) -> None:
    unchanged = Workload.objects.filter(pk=workload.pk, changed_seq=workload.changed_seq)
    if not unchanged.update(**values, changed_seq=F("changed_seq") + 1):
        raise LostRace
    for name, value in values.items():
        setattr(workload, name, value)
    workload.changed_seq += 1


def tell(
    workload: Workload,
    *,
    entry: str,
    message: str,
    params: Mapping[str, object] | None = None,
    reason: str = "",
    by: Actor | None = None,
    at: datetime | None = None,
) -> None:
    """One line in the workload's history: `message` is a msgid, `entry` its type (`changed`: for live pages only)."""
    feed.append(
        scope=feed.tenant_scope(workload.tenant_id),
        topic=TOPIC,
        object_id=workload.pk,
        run=workload.run_number,
        type=entry,
        reason=reason,
        message=message,
        params=params,
        by=by,
        at=at,
    )


def accepted(workload: Workload, *, by: Actor, now: datetime) -> None:
    """The first line of a new workload's history."""
    sentence = EXPLANATIONS[Reason.ACCEPTED].sentence
    tell(workload, entry=State.SUBMITTED.value, reason=Reason.ACCEPTED.value, message=sentence, by=by, at=now)


def new_run(workload: Workload, *, now: datetime, by: Actor | None = None, retry_of: int | None = None) -> Run:
    """From a final state into the next run, with everything that was about the last one put back."""
    number = workload.run_number + 1
    move(workload, reason=Reason.ACCEPTED, now=now, by=by, changes={**AT_THE_BEGINNING, "run_number": number})
    return open_run(workload, number=number, now=now, retry_of=retry_of)


def go_on_from(workload: Workload, *, number: int, now: datetime) -> Run:
    """Into a later run that the cluster already has: the records are older than the cluster (a restored backup).

    It is the records that move, not the workload, so the table of moves is not asked. The runs in between are closed.
    """
    for run in Run.objects.filter(workload=workload, ended_at=None):
        close_run(run, outcome=STOPPED, reason=Reason.RECORDS_BEHIND, now=now)
    for missed in range(workload.run_number + 1, number):
        close_run(open_run(workload, number=missed, now=now), outcome=STOPPED, reason=Reason.RECORDS_BEHIND, now=now)
    told = {"state": State.SUBMITTED.value, "reason": Reason.ACCEPTED.value, "reason_params": {}, "state_since": now}
    _write(workload, {**AT_THE_BEGINNING, **told, "run_number": number})
    tell(workload, entry="adopted", message=LATER_RUN, params={"run": number}, at=now)
    return open_run(workload, number=number, now=now)


def open_run(workload: Workload, *, number: int, now: datetime, retry_of: int | None = None) -> Run:
    """A new open run of what the workload asks for now. The database refuses a second open one."""
    return Run.objects.create(
        workload=workload,
        number=number,
        spec=to_json(workload.request),
        flavor_name=workload.flavor.name,
        nodes=workload.spec.get("nodes", 1),
        retry_of=retry_of,
        created_at=now,
    )


def close_run(
    run: Run,
    *,
    outcome: str,
    reason: Reason,
    now: datetime,
    params: Mapping[str, object] | None = None,
    exit_code: int | None = None,
    finished_at: datetime | None = None,
) -> bool:
    """Ends an open run; False where it already ended (the first outcome stands)."""
    return bool(
        Run.objects.filter(pk=run.pk, ended_at=None).update(
            outcome=outcome,
            reason=reason.value,
            reason_params=dict(params or {}),
            exit_code=exit_code,
            finished_at=finished_at or now,
            ended_at=now,
        )
    )


def stamp_run(run: Run, *, admitted_at: datetime | None, started_at: datetime | None) -> None:
    """The first admission and the first readiness of a run, by the cluster's times; later ones change nothing."""
    if admitted_at is not None and run.admitted_at is None:
        Run.objects.filter(pk=run.pk, admitted_at=None).update(admitted_at=admitted_at)
    if started_at is not None and run.started_at is None:
        Run.objects.filter(pk=run.pk, started_at=None).update(started_at=started_at)
