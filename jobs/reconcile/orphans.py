"""Objects on the cluster that carry our labels and that no row explains."""

from __future__ import annotations

from jobs.models import RunObject, UnknownObject, Workload
from jobs.reconcile.loading import RUN_OWNED
from jobs.states import FINAL_STATES, State
from portal.cluster.models import MirrorObject
from portal.kernel import clock, work
from portal.kernel.transaction import transaction

BATCH = 500
NO_WORKLOAD = "no workload of this id"


def find() -> int:
    """Wakes workloads whose closed runs still have objects, and lists what belongs to no workload. Returns how many."""
    return _wake_closed() + _list_unknown()


def _wake_closed() -> int:
    """Run-owned objects of workloads that rest or are deleted, and that no stored object accounts for."""
    objects = MirrorObject.objects.filter(ours=True, kind__in=RUN_OWNED, workload_id__isnull=False)
    over = Workload.objects.filter(state__in=[*FINAL_STATES, State.DELETED]).values("pk")
    known = RunObject.objects.filter(gone_at=None).exclude(uid="").values("uid")
    ids = objects.filter(workload_id__in=over).exclude(uid__in=known).values_list("workload_id", flat=True).distinct()
    found = [one for one in ids[:BATCH] if one is not None]
    with transaction():
        for one in found:
            work.wake("workload", one)
    return len(found)


def _list_unknown() -> int:
    """For the administrator; never deleted by Turno itself. What is gone from the mirror leaves the list."""
    ours = MirrorObject.objects.filter(ours=True, workload_id__isnull=False)
    UnknownObject.objects.exclude(uid__in=ours.values("uid")).delete()
    listed = UnknownObject.objects.values("uid")
    stray = ours.exclude(workload_id__in=Workload.objects.values("pk")).exclude(uid__in=listed)
    rows = [
        UnknownObject(
            cluster_id=one.cluster_id,
            kind=one.kind,
            namespace=one.namespace,
            name=one.name,
            uid=one.uid,
            why=NO_WORKLOAD,
            seen_at=clock.now(),
        )
        for one in stray.order_by("pk")[:BATCH]
    ]
    UnknownObject.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)
