"""Writing down what a pass found, in one transaction that begins with the fence."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from jobs import transitions
from jobs.decide import DELETED, FAILED, STOPPED, Verdict, replicas_queued, stamp
from jobs.manifests.plan import JsonObject
from jobs.models import Run, RunObject
from jobs.reconcile import allocations, events
from jobs.reconcile.loading import Situation, Written
from jobs.specs import Training
from jobs.states import EXPLANATIONS, STOPPED_AS, Reason, State, gettext_noop
from portal.kernel import work
from portal.kernel.actors import System
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease

DRIFT = gettext_noop("%(object)s was changed on the cluster by %(manager)s; its fields were put back.")
MADE_AGAIN = gettext_noop("%(object)s was deleted on the cluster and made again.")
MOST_PLACES = 1000
KIND = "workload"
SOMEBODY = "somebody"
ACTIVE = "active"
# A new run may do better: the same request, on other pods.
RETRIED = frozenset(
    {
        Reason.EXIT_CODE,
        Reason.OUT_OF_MEMORY,
        Reason.POD_EVICTED,
        Reason.POD_DELETED,
        Reason.NODE_FAILURE,
        Reason.UNKNOWN_FAILURE,
    }
)


def record(
    at: Situation,
    lease: Lease,
    verdict: Verdict,
    now: datetime,
    *,
    written: Written | None = None,
    manifests: dict[RunObject, JsonObject] | None = None,
) -> None:
    """The open run's state, and everything that the pass wrote. Raises LeaseLost, LostRace; then nothing is kept."""
    with transaction():
        lease.fence()
        changes = _facts(at, now)
        if written is not None:
            changes |= _writes(at, written, now)
        if manifests is not None:
            _keep_manifests(manifests)
            changes["applied_revision"] = at.workload.spec_revision
        _conclude(at, verdict, now, changes)


def _facts(at: Situation, now: datetime) -> dict[str, Any]:
    """Columns that follow from the mirror alone, and what the mirror adds to ledger and history."""
    allocations.sync(at, now)
    events.copy(at)
    row, seen = at.workload, at.seen
    changes: dict[str, Any] = {"quota_held": seen.quota_held, "nodes_admitted": seen.pods_admitted}
    changes["preemptions"] = max(row.preemptions, sum(one.preempted for one in seen.admissions))
    if row.kind == "endpoint":
        changes["replicas_ready"] = sum(1 for pod in seen.pods if seen.ready(pod))
        changes["replicas_queued"] = replicas_queued(seen)
    changes |= _admitted(at)
    _note_places(at)
    return changes


def _note_places(at: Situation) -> None:
    """Where the run's pods are, for as long as the run is told of."""
    placed = {**at.run.placed, **{pod.name: pod.node for pod in at.seen.pods if pod.node}}
    if at.open and placed != at.run.placed and len(placed) <= MOST_PLACES:
        Run.objects.filter(pk=at.run.pk).update(placed=placed)


def _admitted(at: Situation) -> dict[str, Any]:
    """The first admission of the run starts its clock; a Job's deadline is Kueue's, the others' is ours."""
    times = [one.reserved_at for one in at.seen.admissions if one.held and one.reserved_at is not None]
    if not times or not at.open:
        return {}
    transitions.stamp_run(at.run, admitted_at=min(times), started_at=None)
    limit = at.workload.spec.get("max_duration")
    if limit is None or at.workload.kind == "training" or at.workload.deadline_at is not None:
        return {}
    return {"deadline_at": (at.run.admitted_at or min(times)) + timedelta(seconds=limit)}


def _writes(at: Situation, written: Written, now: datetime) -> dict[str, Any]:
    """uids of run-owned objects, what `keep` has to remember, and a line of history for what others did."""
    for one, (uid, content) in written.uids.items():
        RunObject.objects.filter(pk=one.pk).update(uid=uid, applied_hash=content, created_at=now)
    for one, content in written.contents.items():
        RunObject.objects.filter(pk=one.pk).update(applied_hash=content)
    for one, manager in written.drift.items():
        told = {"object": f"{one.kind}/{one.name}", "manager": manager or SOMEBODY}
        transitions.tell(at.workload, entry="drift", message=DRIFT, params=told)
    kept = dict(at.workload.applied)
    made_again = [f"{one.kind}/{one.name}" for one in written.recreated]
    for outcome in written.outcomes:
        kept |= outcome.applied
        made_again += outcome.recreated
        for drift in outcome.drift:
            manager = ", ".join(sorted(set(drift.managers.values()))) or SOMEBODY
            told = {"object": drift.key, "manager": manager}
            transitions.tell(at.workload, entry="drift", message=DRIFT, params=told)
    for name in made_again:
        transitions.tell(at.workload, entry="recreated", message=MADE_AGAIN, params={"object": name})
    return {"applied": kept}


def keep_progress(at: Situation, lease: Lease, now: datetime) -> None:
    """The pass ends early: what it has made or taken away is written down, so that the next one goes on from there."""
    with transaction():
        lease.fence()
        mark_gone(at.gone, now)
        transitions.amend(at.workload, changes=_writes(at, at.written, now))


def _keep_manifests(manifests: dict[RunObject, JsonObject]) -> None:
    for one, manifest in manifests.items():
        RunObject.objects.filter(pk=one.pk).update(manifest=manifest, applied_hash=one.applied_hash)


def _conclude(at: Situation, verdict: Verdict, now: datetime, changes: dict[str, Any]) -> None:
    row = at.workload
    if verdict.reason is None:
        transitions.amend(row, changes=changes)
        return
    target = EXPLANATIONS[verdict.reason].state
    if target is State.STOPPING:
        changes["wanted"] = "stop"
        look_again(at)
    params = dict(verdict.params)
    if "flavor" in params:
        params["flavor"] = allocations.flavor_name(row, str(params["flavor"]))
    if verdict.preemptor:
        params["by"] = allocations.preemptor(at, verdict.preemptor)
    if verdict.outcome:
        _close(at, verdict, params, now, changes)
        return
    if target is not State.SUBMITTED and row.queued_at is None:
        changes["queued_at"] = min((one.created for one in at.seen.admissions if one.created), default=now)
    if target is State.RUNNING:
        started = verdict.started_at or now
        transitions.stamp_run(at.run, admitted_at=None, started_at=started)
        if row.started_at is None:
            changes["started_at"] = started
    transitions.move(row, reason=verdict.reason, now=now, params=params, changes=changes)


def _close(at: Situation, verdict: Verdict, params: dict[str, Any], now: datetime, changes: dict[str, Any]) -> None:
    row, run = at.workload, at.run
    assert verdict.reason is not None  # noqa: S101  the caller's condition
    finished = max(verdict.finished_at or now, run.started_at or verdict.finished_at or now)
    transitions.close_run(
        run,
        outcome=verdict.outcome,
        reason=verdict.reason,
        params=params,
        exit_code=verdict.exit_code,
        finished_at=finished,
        now=now,
    )
    changes |= {"exit_code": verdict.exit_code, "finished_at": finished, "deadline_at": None}
    if row.queued_at is None:
        changes["queued_at"] = min((one.created for one in at.seen.admissions if one.created), default=None)
    if row.started_at is None and run.started_at is not None:
        changes["started_at"] = run.started_at
    transitions.move(row, reason=verdict.reason, now=now, params=params, changes=changes)
    if verdict.outcome == FAILED and _retry_due(at, verdict.reason):
        transitions.new_run(row, now=now, by=System(), retry_of=run.number)
    look_again(at)


def look_again(at: Situation) -> None:
    """There is something to do at once: the pass that holds the lease runs again when this one is over."""
    work.wake(KIND, at.workload.pk)


def _retry_due(at: Situation, reason: Reason) -> bool:
    """Retries count from the run that a person started; evictions by Kueue never end a run, so they do not count."""
    spec = at.spec
    if not isinstance(spec, Training) or reason not in RETRIED or at.workload.wanted != "run":
        return False
    if at.workload.tenant.state != ACTIVE:
        return False
    return retries_so_far(at) < spec.retries


def retries_so_far(at: Situation) -> int:
    """How many retries in a row led to the newest run."""
    runs = Run.objects.filter(workload=at.workload, number__lte=at.run.number).order_by("-number")
    return sum(1 for _ in takewhile(lambda of: of is not None, runs.values_list("retry_of", flat=True)))


def close_stopped(at: Situation, lease: Lease, now: datetime, then: Callable[[], None] | None = None) -> None:
    """All pods are gone: the run ends as stopped, and what waits for that begins."""
    row = at.workload
    why = Reason(str(row.reason_params.get("was", row.reason)))
    reason = STOPPED_AS.get(why, Reason.STOPPED_BY_PERSON)
    with transaction():
        lease.fence()
        mark_gone(at.gone, now)
        changes = _facts(at, now) | {"quota_held": False, "nodes_admitted": 0, "deadline_at": None}
        if row.kind == "endpoint":
            changes |= {"replicas_ready": 0, "replicas_queued": 0}
        params = {name: value for name, value in row.reason_params.items() if name not in ("was", "since")}
        transitions.close_run(at.run, outcome=STOPPED, reason=reason, params=params, now=now)
        transitions.move(row, reason=reason, now=now, params=params, changes=changes)
        if then is not None:
            then()


def mark_gone(gone: list[RunObject], now: datetime) -> None:
    """The cluster confirmed that these are gone."""
    RunObject.objects.filter(pk__in=[one.pk for one in gone], gone_at=None).update(gone_at=now)


def note_facts(at: Situation, now: datetime) -> None:
    """What the mirror says of a workload whose state it does not decide; inside the caller's transaction."""
    transitions.amend(at.workload, changes=_facts(at, now))


def note_lost(at: Situation, claim: str, message: str, now: datetime) -> None:
    """The home of a resting notebook is gone: told now, refused at the next start."""
    key = f"PersistentVolumeClaim/{claim}"
    applied = {**at.workload.applied, key: {**at.workload.applied[key], "gone_at": stamp(now)}}
    transitions.amend(at.workload, changes={"applied": applied})
    transitions.tell(at.workload, entry="data_gone", message=message, params={"name": claim}, at=now)


def close_deleted(at: Situation, now: datetime, kept_until: datetime | None) -> None:
    """Nothing of it is left on the cluster, but perhaps its home; inside the caller's transaction."""
    changes = _facts(at, now) | {
        "quota_held": False,
        "nodes_admitted": 0,
        "deleted_at": now,
        "data_kept_until": kept_until,
        "deadline_at": None,
    }
    transitions.close_run(at.run, outcome=DELETED, reason=Reason.DELETED, now=now)
    transitions.move(at.workload, reason=Reason.DELETED, now=now, changes=changes)
