"""One step per state of what is wanted: run, stop, rest, delete. Each returns when to look again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from jobs import transitions
from jobs.decide import FAILED, Record, Verdict, stamp, standing
from jobs.reconcile import recording, removing, rendering, resting, writing
from jobs.reconcile.loading import Situation, Written
from jobs.states import FINAL_STATES, HOME_KEPT, Reason, State, gettext_noop
from portal.cluster.port import ClusterGateway
from portal.kernel.actors import System
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease
from tenants import selectors as tenants

SPACE_AGAIN = 1.0
MADE_AGAIN = 5.0
GOING_AGAIN = 1.0
QUEUED_AGAIN = 30.0
RUNNING_AGAIN = 300.0
HELD_AGAIN = 5.0
NEXT = gettext_noop("The old pods are gone: the next run begins.")


def live(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """The open run: rendered, its objects there, its state as the mirror has it."""
    if at.run.rendered_at is None:
        wait = _render(at, gateway, lease, now)
        if wait is not None:
            return wait
    manifests = (
        writing.patch_live(at, gateway, lease) if at.workload.spec_revision > at.workload.applied_revision else None
    )
    written = writing.write(at, gateway, lease)
    verdict = _verdict(at, written, now)
    recording.record(at, lease, verdict, now, written=written, manifests=manifests)
    return verdict.look_again or _again(at, written)


def _render(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """None when it is rendered; else seconds until the old pods may be gone, or the team's space there."""
    if at.remains:
        left = removing.delete_run_owned(at, at.remains, gateway, lease)
        left += removing.pods_left(at, gateway, lease, but_of=at.run.number)
        with transaction():
            lease.fence()
            recording.mark_gone(at.gone, now)
            if left:
                transitions.move(at.workload, reason=Reason.WAITING_FOR_OLD_PODS, now=now)
        if left:
            return GOING_AGAIN
    space = tenants.space_of(at.workload.tenant_id, at.workload.cluster_id)
    if space is None or not space.ready:
        recording.record(at, lease, Verdict(Reason.WAITING_FOR_SPACE), now)
        return SPACE_AGAIN
    rendering.store(at, lease, namespace=space.namespace, now=now)
    return None


def _verdict(at: Situation, written: Written, now: datetime) -> Verdict:
    if written.lost_data:
        told = {"name": written.lost_data, "since": str(resting.noticed(at, written.lost_data) or stamp(now))}
        return Verdict(Reason.DATA_GONE, told, outcome=FAILED)
    if written.gone is not None:
        return Verdict(Reason.GONE_OUTSIDE, {"kind": written.gone.kind, "name": written.gone.name})
    verdict = standing(_record(at), at.seen, now)
    if verdict.reason is None and verdict.look_again is None and at.state is State.SUBMITTED:
        return Verdict(Reason.IN_LINE)
    return verdict


def _record(at: Situation) -> Record:
    spec = at.spec
    return Record(
        kind=at.workload.kind,
        pods=spec.pods,
        memory=spec.memory,
        image=spec.image,
        max_duration=spec.max_duration,
        placed=at.run.placed,
    )


def _again(at: Situation, written: Written) -> float:
    if written.uids:
        return MADE_AGAIN
    return RUNNING_AGAIN if at.state in (State.RUNNING, State.IDLE) else QUEUED_AGAIN


def stopping(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """Objects away, pods gone, then the run is closed; a start that waited for it begins in the same transaction."""
    ended = _ended_by_itself(at, now)
    if ended is not None:
        recording.record(at, lease, ended, now)
        return HELD_AGAIN
    removal = removing.remove_run(at, [*at.remains, *at.mine], gateway, lease)
    if not removal.done:
        _note(at, lease, now)
        return GOING_AGAIN
    recording.close_stopped(at, lease, now, then=lambda: _start_again(at, now))
    return HELD_AGAIN


def _ended_by_itself(at: Situation, now: datetime) -> Verdict | None:
    """It came to its end before the stop could: that is how it ended."""
    job = at.seen.job
    if job is None or not (job.complete or job.failed) or Reason(at.workload.reason) is Reason.GONE_OUTSIDE:
        return None
    verdict = standing(_record(at), at.seen, now)
    return verdict if verdict.outcome else None


def _start_again(at: Situation, now: datetime) -> None:
    row = at.workload
    if not row.start_requested:
        return
    transitions.new_run(row, now=now, by=System())
    transitions.tell(row, entry="start", message=NEXT, at=now)
    recording.look_again(at)


def _note(at: Situation, lease: Lease, now: datetime) -> None:
    """Half way: what is gone is written down, and an unreachable cluster that answers again is told."""
    with transaction():
        lease.fence()
        recording.mark_gone(at.gone, now)
        was = at.workload.reason_params.get("was")
        if was is not None:
            kept = {name: value for name, value in at.workload.reason_params.items() if name not in ("was", "since")}
            transitions.move(at.workload, reason=Reason(str(was)), now=now, params=kept)
        recording.note_facts(at, now)


def deleting(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """Everything away but a home that is kept; then the workload is hidden and its history stays."""
    runs_own = [one for one in at.objects if not one.owned_by_workload]
    left = removing.delete_run_owned(at, runs_own, gateway, lease)
    keep = at.workload.kind == "notebook" and not at.workload.delete_data
    owned_gone = removing.remove_owned(at, gateway, lease, keep_claim=keep)
    if left or not owned_gone or removing.pods_left(at, gateway, lease):
        _note(at, lease, now)
        return GOING_AGAIN
    kept_until = now + HOME_KEPT if keep and rendering.home_of(at) else None
    with transaction():
        lease.fence()
        recording.mark_gone(at.gone, now)
        recording.close_deleted(at, now, kept_until)
    return None if kept_until is None else HOME_KEPT.total_seconds()


Step = Callable[[Situation, ClusterGateway, Lease, datetime], float | None]


def step_for(state: State) -> Step:
    """Which step a state takes."""
    if state is State.DELETED:
        return resting.deleted
    if state in FINAL_STATES:
        return resting.resting
    return {State.STOPPING: stopping, State.DELETING: deleting}.get(state, live)
