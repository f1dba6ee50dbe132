"""Records that are older than the cluster, as after a restored backup: the cluster's later run is gone on with."""

from __future__ import annotations

from datetime import datetime

from jobs import transitions
from jobs.models import Workload
from jobs.reconcile.loading import RUN_OWNED, Situation
from jobs.reconcile.removing import is_of_later_run
from jobs.states import State
from portal.cluster.models import MirrorObject
from portal.cluster.port import ClusterGateway, ObjectRef
from portal.kernel import work
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease

NAME_FREE = (State.SUCCEEDED, State.FAILED, State.DELETED)


def adopt_later_run(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> bool:
    """Opens the newest run that the cluster has and the records do not; its objects are found by the next pass.

    False where there is none; and where its name is another workload's by now: then it stays, and is listed.
    """
    found = [one for one in at.mirror if one.kind in RUN_OWNED and one.ours and is_of_later_run(at, one)]
    there = [one.run or 0 for one in found if _is_there(one, gateway)]
    if not there or _name_is_taken(at.workload):
        return False
    with transaction():
        lease.fence()
        transitions.go_on_from(at.workload, number=max(there), now=now)
        work.wake(lease.kind, lease.object_id)
    return True


def _is_there(one: MirrorObject, gateway: ClusterGateway) -> bool:
    """Still, and not on its way out: whoever stopped it did that for good."""
    found = gateway.get(ObjectRef(one.kind, one.name, one.namespace))
    return found is not None and found["metadata"]["uid"] == one.uid and not found["metadata"].get("deletionTimestamp")


def _name_is_taken(row: Workload) -> bool:
    same = Workload.objects.filter(tenant=row.tenant_id, kind=row.kind, name=row.name)
    return row.state in NAME_FREE and same.exclude(state__in=NAME_FREE).exclude(pk=row.pk).exists()
