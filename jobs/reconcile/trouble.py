"""What a failing cluster call means for a workload: a reason that people can read, and when to try again."""

from __future__ import annotations

from datetime import datetime

from jobs import transitions
from jobs.decide import FAILED, Verdict, stamp
from jobs.manifests.secrets import KeyMissing
from jobs.reconcile.loading import Situation
from jobs.reconcile.recording import record
from jobs.reconcile.writing import NameConflict
from jobs.states import Reason, State
from portal.cluster.port import (
    ClusterError,
    Forbidden,
    InvalidObject,
    Missing,
    NamespaceTerminating,
    QueueSystemUnavailable,
    RejectedByWebhook,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    VersionConflict,
)
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease, Retry

ACCESS_AGAIN = 10.0
SPACE_AGAIN = 2.0
CONFLICT_AGAIN = 0.5
LONGEST = 500
SILENT: dict[State, Reason] = {
    State.SUBMITTED: Reason.CLUSTER_UNREACHABLE,
    State.STOPPING: Reason.STOPPING_UNREACHABLE,
    State.DELETING: Reason.DELETING_UNREACHABLE,
}
FINAL = (RejectedByWebhook, InvalidObject)


def answer(at: Situation, lease: Lease, error: ClusterError, now: datetime) -> float | None:
    """Tells what is wrong and raises Retry, or closes the run where trying again cannot help."""
    if isinstance(error, FINAL):
        if at.open and at.state not in (State.STOPPING, State.DELETING):
            return fail(at, lease, Reason.REJECTED, {"text": error.message[:LONGEST]}, now)
        raise Retry(error.message, after=ACCESS_AGAIN) from error
    if isinstance(error, VersionConflict):
        raise Retry("changed on the cluster meanwhile", after=CONFLICT_AGAIN) from error
    if isinstance(error, NamespaceTerminating | Missing):
        _tell(at, lease, {State.SUBMITTED: Reason.WAITING_FOR_SPACE}, {}, now)
        raise Retry("no namespace", after=SPACE_AGAIN) from error
    if isinstance(error, Unauthorized | Forbidden):
        told = {"since": _since(at, now), "text": error.message[:LONGEST]}
        _tell(at, lease, {State.SUBMITTED: Reason.CLUSTER_REFUSES_ACCESS}, told, now)
        raise Retry(error.message, after=ACCESS_AGAIN) from error
    if isinstance(error, QueueSystemUnavailable):
        told = {"since": _since(at, now)}
        _tell(at, lease, {State.SUBMITTED: Reason.QUEUE_SYSTEM_UNAVAILABLE}, told, now)
    elif isinstance(error, Unreachable | ServerTrouble):
        _tell(at, lease, SILENT, {"since": _since(at, now)}, now)
    after = error.retry_after if isinstance(error, TooManyRequests) else None
    raise Retry(f"{type(error).__name__}: {error.message}"[:LONGEST], after=after) from error


def _since(at: Situation, now: datetime) -> str:
    """When it was first told; the cluster's own row where the watcher noticed earlier."""
    first = at.workload.cluster.unreachable_since
    return str(at.workload.reason_params.get("since") or stamp(first if first and first < now else now))


def _tell(at: Situation, lease: Lease, reasons: dict[State, Reason], params: dict[str, str], now: datetime) -> None:
    """Only where the state has such a reason; what it was before is kept for later."""
    reason, row = reasons.get(at.state), at.workload
    if reason is None or (row.reason == reason and row.reason_params.get("since") == params.get("since")):
        return
    kept: dict[str, object] = dict(params)
    if at.state is not State.SUBMITTED:
        kept = {**row.reason_params, **params, "was": row.reason_params.get("was", row.reason)}
    with transaction():
        lease.fence()
        transitions.move(row, reason=reason, now=now, params=kept)


def fail(at: Situation, lease: Lease, reason: Reason, params: dict[str, object], now: datetime) -> float | None:
    """The run ends here; its objects are taken away by the next pass, which follows at once."""
    record(at, lease, Verdict(reason, params, outcome=FAILED), now)
    return None


def name_conflict(at: Situation, lease: Lease, conflict: NameConflict, now: datetime) -> float | None:
    """Somebody else's object has the name; it was not touched."""
    return fail(at, lease, Reason.NAME_CONFLICT, {"kind": conflict.kind, "name": conflict.name}, now)


def key_missing(at: Situation, lease: Lease, missing: KeyMissing, now: datetime) -> float | None:
    """The server key that its token was made with was taken out of the settings."""
    text = f"TURNO_TOKEN_KEYS has no {missing.args[0]!r}"
    return fail(at, lease, Reason.REJECTED, {"text": text}, now)
