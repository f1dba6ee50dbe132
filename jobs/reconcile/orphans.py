"""Objects on the cluster that carry our labels and that no row explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Exists, OuterRef

from jobs.models import RunObject, UnknownObject, Workload
from jobs.reconcile.loading import RUN_OWNED
from jobs.states import FINAL_STATES, State, gettext_noop
from portal.cluster import names
from portal.cluster.models import MirrorObject
from portal.cluster.port import JsonObject
from portal.kernel import clock, work
from portal.kernel.models import Work
from portal.kernel.transaction import transaction

BATCH = 500
NO_WORKLOAD = gettext_noop("no workload of this id")
NO_RUN = gettext_noop("a later run than the records have")
NO_ROW = gettext_noop("no team, quota, flavor or priority of this id")
OF_TEAMS = ("Namespace", "ClusterQueue", "ResourceFlavor", "Cohort", "WorkloadPriorityClass")


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
    """For the administrator; never deleted by Turno itself. What is gone, or explained by now, leaves the list."""
    found = {uid: why for why, rows in _unexplained() for uid in rows}
    UnknownObject.objects.exclude(uid__in=found).delete()
    new = set(found).difference(UnknownObject.objects.values_list("uid", flat=True))
    rows = [
        UnknownObject(
            cluster_id=one.cluster_id,
            kind=one.kind,
            namespace=one.namespace,
            name=one.name,
            uid=one.uid,
            why=found[one.uid],
            seen_at=clock.now(),
        )
        for one in MirrorObject.objects.filter(uid__in=sorted(new)[:BATCH]).order_by("pk")
    ]
    UnknownObject.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def _unexplained() -> Iterator[tuple[str, Iterable[str]]]:
    """Why -> the uids of objects with our labels that no row explains."""
    ours = MirrorObject.objects.filter(ours=True)
    of_workloads = ours.filter(workload_id__isnull=False)
    row = Workload.objects.filter(pk=OuterRef("workload_id"))
    yield NO_WORKLOAD, of_workloads.filter(~Exists(row)).values_list("uid", flat=True)
    of_runs = of_workloads.filter(kind__in=RUN_OWNED)
    yield NO_RUN, of_runs.filter(Exists(row.filter(run_number__lt=OuterRef("run")))).values_list("uid", flat=True)
    labelled = ours.filter(workload_id=None, kind__in=OF_TEAMS).values_list("uid", "data")
    kept = {f"{kind}.{pk}" for kind, pk in Work.objects.exclude(kind="workload").values_list("kind", "object_id")}
    yield NO_ROW, [uid for uid, data in labelled if _label(data) not in kept]


def _label(data: JsonObject) -> str:
    """Which row keeps it true, as its label says."""
    labels = (data.get("metadata") or {}).get("labels") or {}
    return str(labels.get(names.OBJECT, ""))
