"""One pass over one workload: load, observe, decide, act, record. Everything in it may be repeated."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from jobs.errors import LostRace
from jobs.manifests.secrets import KeyMissing
from jobs.models import Workload
from jobs.reconcile import trouble
from jobs.reconcile.adopting import adopt_later_run
from jobs.reconcile.loading import Situation, load
from jobs.reconcile.recording import keep_progress
from jobs.reconcile.removing import remove_strays
from jobs.reconcile.steps import step_for
from jobs.reconcile.writing import NameConflict
from portal.cluster.models import Cluster
from portal.cluster.port import ClusterError, ClusterGateway
from portal.kernel import work
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease, Retry

TRIES = 3


def cluster_of(workload_id: UUID) -> Cluster | None:
    """The cluster that a workload is on; None where there is no such workload."""
    return Cluster.objects.filter(pk__in=Workload.objects.filter(pk=workload_id).values("cluster_id")).first()


def one(lease: Lease, gateway: ClusterGateway, now: datetime) -> float | None:
    """Seconds until somebody must look again; None: only when something changes. Raises LeaseLost and Retry."""
    for _ in range(TRIES):
        at = load(lease.object_id)
        if at is None:
            with transaction():
                lease.fence()
                work.forget(lease.kind, lease.object_id)
            return None
        try:
            return _pass(at, lease, gateway, now)
        except LostRace:
            continue
    raise Retry("changed meanwhile", after=0.2)


def _pass(at: Situation, lease: Lease, gateway: ClusterGateway, now: datetime) -> float | None:
    try:
        if adopt_later_run(at, gateway, lease, now):
            return None
        remove_strays(at, gateway, lease, now)
        return step_for(at.state)(at, gateway, lease, now)
    except NameConflict as conflict:
        return trouble.name_conflict(at, lease, conflict, now)
    except KeyMissing as missing:
        return trouble.key_missing(at, lease, missing, now)
    except ClusterError as error:
        keep_progress(at, lease, now)
        return trouble.answer(at, lease, error, now)
