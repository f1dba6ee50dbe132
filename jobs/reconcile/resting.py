"""When nothing is wanted of a workload any more: what is left on the cluster goes when its time is over."""

from __future__ import annotations

from datetime import datetime

from jobs import transitions
from jobs.models import RunObject
from jobs.reconcile import allocations, recording, removing
from jobs.reconcile.loading import Situation
from jobs.reconcile.rendering import CLAIM, known_claim
from jobs.states import gettext_noop
from portal.cluster.port import ClusterGateway, ObjectRef
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease

GOING_AGAIN = 1.0
HELD_AGAIN = 5.0
DATA_GONE = gettext_noop("The volume claim %(name)s was deleted on the cluster: the data is gone.")


def resting(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """Stopped, succeeded or failed: the closed run's objects go when their time is over; the ledger is completed."""
    due: list[RunObject] = []
    waits: list[float] = []
    for one in at.objects:
        if one.owned_by_workload or one.gone_at is not None:
            continue
        kept = (removing.kept_until(one, at) - now).total_seconds()
        if kept > 0:
            waits.append(kept)
        else:
            due.append(one)
    removal = removing.remove_run(at, due, gateway, lease) if due else removing.Removal()
    lost = _lost_claim(at, gateway)
    with transaction():
        lease.fence()
        recording.mark_gone(at.gone, now)
        if lost:
            recording.note_lost(at, lost, DATA_GONE, now)
        recording.note_facts(at, now)
    if not removal.done:
        waits.append(GOING_AGAIN)
    if at.workload.quota_held:
        waits.append(HELD_AGAIN)
    return min(waits, default=None)


def _lost_claim(at: Situation, gateway: ClusterGateway) -> str:
    """The name of a home that the mirror no longer has and the server neither, told once."""
    name = known_claim(at.workload)
    if not name or noticed(at, name):
        return ""
    before = at.workload.applied[f"{CLAIM}{name}"]
    if at.mirrored(removing.CLAIM, before["uid"]):
        return ""
    namespace = next((one.namespace for one in at.objects), None)
    return "" if gateway.get(ObjectRef(removing.CLAIM, name, namespace)) is not None else name


def noticed(at: Situation, claim: str) -> str:
    """When it was noticed that the claim is gone; "" where it was not."""
    return str(at.workload.applied.get(f"{CLAIM}{claim}", {}).get("gone_at", ""))


def deleted(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> float | None:
    """Hidden. What the mirror still held when it closed is completed; a kept home goes when its seven days are over."""
    with transaction():
        lease.fence()
        allocations.sync(at, now)
    until = at.workload.data_kept_until
    if until is None:
        return None
    if until > now:
        return (until - now).total_seconds()
    if not removing.remove_owned(at, gateway, lease, keep_claim=False):
        return GOING_AGAIN
    with transaction():
        lease.fence()
        transitions.amend(at.workload, changes={"data_kept_until": None})
    return None
