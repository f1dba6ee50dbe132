"""Taking objects away, always exactly the uid that is meant; and what must never be there: strays of closed runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.models import RunObject
from jobs.reconcile.loading import RUN_OWNED, Situation
from jobs.reconcile.writing import is_of_run
from portal.cluster import names
from portal.cluster.applied import key_of
from portal.cluster.models import MirrorObject
from portal.cluster.port import ClusterGateway, JsonObject, ObjectRef
from portal.kernel.work import Lease

# A Job that ended by itself stays a while with its pods, so that their last words are captured and can be looked at.
KEEP_FINISHED = timedelta(minutes=10)
CLAIM = "PersistentVolumeClaim"


@dataclass
class Removal:
    """How many run-owned objects, and how many pods of the workload, are still there. What is gone is in `at.gone`."""

    left: int = 0
    pods: int = 0

    @property
    def done(self) -> bool:
        return not self.left and not self.pods


def remove_run(at: Situation, objects: Iterable[RunObject], gateway: ClusterGateway, lease: Lease) -> Removal:
    """Deletes run-owned objects and looks whether they and all pods of the workload are really gone."""
    return Removal(delete_run_owned(at, objects, gateway, lease), pods_left(at, gateway, lease))


def delete_run_owned(at: Situation, objects: Iterable[RunObject], gateway: ClusterGateway, lease: Lease) -> int:
    """Deletes them; how many are still there."""
    left = 0
    for one in objects:
        if one.gone_at is not None:
            continue
        if _delete(at, one, gateway, lease):
            at.gone.append(one)
        else:
            left += 1
    return left


def _delete(at: Situation, one: RunObject, gateway: ClusterGateway, lease: Lease) -> bool:
    """True when it is gone. Without a uid it may have been made and not recorded: its labels say whose it is."""
    ref = ObjectRef.of(one.manifest)
    uid = one.uid
    if not uid:
        found = gateway.get(ref)
        if found is None or not is_of_run(at, found):
            return True
        uid = found["metadata"]["uid"]
    if uid not in at.asked:
        lease.require()
        gateway.delete(ref, uid=uid)
    left = gateway.get(ref)
    return left is None or left["metadata"]["uid"] != uid


def pods_left(at: Situation, gateway: ClusterGateway, lease: Lease, *, but_of: int | None = None) -> int:
    """Asked of the server: the mirror may be behind, and a new run must not start beside an old one's pods.

    Those that were left behind without an owner (a deletion by others that orphans) are deleted by uid.
    `but_of`: a run whose pods do not count.
    """
    namespace = next((one.namespace for one in at.objects), None)
    if namespace is None:
        return 0
    selector = f"{names.WORKLOAD}={at.workload.pk},{names.INSTANCE}={at.workload.cluster.instance}"
    pods = gateway.list("Pod", namespace=namespace, selector=selector).items
    mine = [pod for pod in pods if pod["metadata"]["labels"].get(names.RUN) != str(but_of)]
    living = [pod for pod in mine if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")]
    for one in (pod["metadata"] for pod in (mine if at.workload.wanted == "delete" else living)):
        if not one.get("ownerReferences") and not one.get("deletionTimestamp"):
            lease.require()
            gateway.delete(ObjectRef("Pod", one["name"], namespace), uid=one["uid"])
    return len(living)


def remove_owned(at: Situation, gateway: ClusterGateway, lease: Lease, *, keep_claim: bool) -> bool:
    """Deletes the workload-owned objects of all runs, the claim only where it is not kept. True when all are gone."""
    all_gone = True
    rows: dict[str, list[RunObject]] = {}
    for one in at.objects:
        if one.owned_by_workload and one.gone_at is None and not (keep_claim and one.kind == CLAIM):
            rows.setdefault(key_of(one.manifest), []).append(one)
    for same in rows.values():
        if _delete_owned(at, same[0].manifest, gateway, lease):
            at.gone += same
        else:
            all_gone = False
    return all_gone


def _delete_owned(at: Situation, manifest: JsonObject, gateway: ClusterGateway, lease: Lease) -> bool:
    """By the uid that we know, then by whatever of ours is there: an apply whose answer was lost is found as well."""
    ref = ObjectRef.of(manifest)
    known = at.workload.applied.get(key_of(manifest), {}).get("uid")
    if known:
        lease.require()
        gateway.delete(ref, uid=known)
    found = gateway.get(ref)
    if found is None or not _is_of_workload(at, found):
        return True
    if found["metadata"]["uid"] != known:
        lease.require()
        gateway.delete(ref, uid=found["metadata"]["uid"])
    return False


def _is_of_workload(at: Situation, found: JsonObject) -> bool:
    labels = found["metadata"].get("labels") or {}
    ours = names.is_ours(labels, at.workload.cluster.instance)
    return ours and labels.get(names.WORKLOAD) == str(at.workload.pk)


def strays(at: Situation, now: datetime) -> list[ObjectRef]:
    """Mirrored run-owned objects of runs that are over: made by a worker that came back too late, or left behind."""
    kept = {one.uid for one in at.objects if kept_until(one, at) > now}
    found = []
    for one in at.mirror:
        stray = one.kind in RUN_OWNED and one.ours and one.uid not in kept and not is_of_later_run(at, one)
        if stray and not (at.open and one.run == at.run.number):
            found.append((ObjectRef(one.kind, one.name, one.namespace), one.uid))
    return [ref for ref, _uid in found]


def is_of_later_run(at: Situation, one: MirrorObject) -> bool:
    """No worker makes objects of a run before its row is there: the records are older than the cluster."""
    return one.run is not None and one.run > at.run.number and at.workload.wanted != "delete"


def remove_strays(at: Situation, gateway: ClusterGateway, lease: Lease, now: datetime) -> int:
    """Deletes them by uid. Returns how many there were."""
    wanted = set(strays(at, now))
    rows = [one for one in at.mirror if ObjectRef(one.kind, one.name, one.namespace) in wanted]
    for one in rows:
        lease.require()
        gateway.delete(ObjectRef(one.kind, one.name, one.namespace), uid=one.uid)
        at.asked.add(one.uid)
    return len(rows)


def kept_until(one: RunObject, at: Situation) -> datetime:
    """Until when a closed run's Job stays where it ended by itself; the past for everything else."""
    ended = one.run.ended_at
    by_itself = one.kind == "Job" and one.run.outcome in ("succeeded", "failed") and _job_over(one, at)
    if ended is None or not by_itself or at.workload.wanted == "delete":
        return datetime.min.replace(tzinfo=at.workload.created_at.tzinfo)
    return ended + KEEP_FINISHED


def _job_over(one: RunObject, at: Situation) -> bool:
    """Whether the Job's own status is final: one that we gave up would still hold quota."""
    job = at.seen.job
    return job is not None and job.uid == one.uid and (job.complete or job.failed)
