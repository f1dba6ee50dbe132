"""Making the open run's objects be there: run-owned ones created once, workload-owned ones kept as stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings

from jobs.manifests import secrets
from jobs.models import RunObject
from jobs.observe.drift import other_manager, repair
from jobs.reconcile.loading import Situation, Written
from jobs.specs.words import is_reserved_label
from portal.cluster import applied, names
from portal.cluster import selectors as cluster
from portal.cluster.content import content_hash, manifest_hash
from portal.cluster.port import AlreadyExists, ClusterGateway, JsonObject, ObjectRef
from portal.kernel.work import Lease, Retry


class NameConflict(Exception):
    """Somebody else's object has the name of one of ours; it is not touched."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name}")
        self.kind = kind
        self.name = name


def write(at: Situation, gateway: ClusterGateway, lease: Lease) -> Written:
    """Everything that must exist for the open run, in order. Raises NameConflict, KeyMissing, Retry and ClusterError.

    Nothing is recorded here: what was written before an error is in `at.written`, and is found again in any case.
    """
    written = at.written
    _keep(at, gateway, lease, written)
    if written.lost_data:
        return written
    for one in at.mine:
        if one.gone_at is not None:
            continue
        if not one.uid:
            written.uids[one] = _create(at, gateway, lease, one)
        elif not at.mirrored(one.kind, one.uid):
            _missing(at, gateway, lease, one, written)
        else:
            _mend(at, gateway, lease, one, written)
    return written


def _keep(at: Situation, gateway: ClusterGateway, lease: Lease, written: Written) -> None:
    """Workload-owned objects; a Secret only where it is new or its pods cannot find it, since it is not mirrored."""
    row = at.workload
    manifests = [filled(at, one.manifest) for one in at.owned]
    due = [one for one in manifests if one["kind"] != "Secret" or _secret_due(at, one)]
    mirrored = cluster.mirrored(row.cluster_id, due)
    for manifest in due:
        try:
            outcome = applied.keep(
                gateway,
                [manifest],
                applied=row.applied,
                mirrored=mirrored,
                instance=row.cluster.instance,
                before_write=lease.require,
            )
        except applied.NameTaken as taken:
            kind, _slash, name = taken.key.partition("/")
            raise NameConflict(kind, name) from taken
        written.outcomes.append(outcome)


def _secret_due(at: Situation, manifest: JsonObject) -> bool:
    before = at.workload.applied.get(applied.key_of(manifest))
    if before is None or before["hash"] != manifest_hash(manifest):
        return True
    return any(one.waiting == "CreateContainerConfigError" for pod in at.seen.live_pods for one in pod.containers)


def filled(at: Situation, manifest: JsonObject) -> JsonObject:
    """The manifest as it is sent: markers of derived tokens replaced."""
    return secrets.filled(manifest, at.workload.pk, settings.TOKEN_KEYS)


def _create(at: Situation, gateway: ClusterGateway, lease: Lease, one: RunObject) -> tuple[str, str]:
    """POST, once. An object of this name is ours when it carries this workload's and this run's labels."""
    lease.require()
    try:
        answer = gateway.create(one.manifest)
    except AlreadyExists:
        found = gateway.get(ObjectRef.of(one.manifest))
        if found is None:
            raise Retry(f"{one.kind} {one.name} is just going", after=0.5) from None
        if not is_of_run(at, found):
            raise NameConflict(one.kind, one.name) from None
        if found["metadata"].get("deletionTimestamp"):
            raise Retry(f"{one.kind} {one.name} is being deleted", after=1.0) from None
        answer = found
    return answer["metadata"]["uid"], content_hash(answer)


def is_of_run(at: Situation, found: JsonObject) -> bool:
    """Whether an object of the cluster was made for the newest run of this workload."""
    labels = found["metadata"].get("labels") or {}
    return (
        names.is_ours(labels, at.workload.cluster.instance)
        and labels.get(names.WORKLOAD) == str(at.workload.pk)
        and labels.get(names.RUN) == str(at.run.number)
    )


def _missing(at: Situation, gateway: ClusterGateway, lease: Lease, one: RunObject, written: Written) -> None:
    """Not in the mirror, or not yet: asks the server. A Job that is gone ends the run; a pod's keeper is made again."""
    found = gateway.get(ObjectRef.of(one.manifest))
    if found is not None and found["metadata"]["uid"] == one.uid:
        return
    if one.kind == "Job":
        written.gone = one
        return
    written.uids[one] = _create(at, gateway, lease, one)
    written.recreated.append(one)


def _mend(at: Situation, gateway: ClusterGateway, lease: Lease, one: RunObject, written: Written) -> None:
    """The mirror shows other content than we left: asks the server what it is, and puts our fields back."""
    row = next((row for row in at.mirror if row.kind == one.kind and row.uid == one.uid), None)
    if row is None or row.content_hash in ("", one.applied_hash):
        return
    found = gateway.get(ObjectRef.of(one.manifest))
    if found is None or found["metadata"]["uid"] != one.uid:
        return
    patch = repair(one.manifest, found)
    if patch:
        manager = other_manager(found, names.field_manager(at.workload.cluster.instance))
        found = _send(gateway, lease.require, one, patch, found)
        written.drift[one] = manager
    written.contents[one] = content_hash(found)


def patch_live(at: Situation, gateway: ClusterGateway, lease: Lease) -> dict[RunObject, JsonObject]:
    """A live change, brought to the open run at fixed paths: labels, a job's priority, replicas.

    Workload-owned objects get their new labels by the next `write`. Returns the stored manifests that changed.
    """
    changed: dict[RunObject, JsonObject] = {}
    for one in [*at.owned, *at.mine]:
        manifest = _changed(at, one)
        if manifest == one.manifest:
            continue
        if not one.owned_by_workload and one.uid:
            _patch(gateway, lease.require, one, manifest)
        one.manifest = changed[one] = manifest
    return changed


def _changed(at: Situation, one: RunObject) -> JsonObject:
    """The stored manifest with today's labels, priority and replicas."""
    request = at.workload.request
    old = one.manifest["metadata"]["labels"]
    labels = {**request.labels, **{name: value for name, value in old.items() if is_reserved_label(name)}}
    if names.PRIORITY_CLASS in old and request.priority:
        labels[names.PRIORITY_CLASS] = names.prefixed(at.workload.cluster.prefix, request.priority)
    manifest: JsonObject = {**one.manifest, "metadata": {**one.manifest["metadata"], "labels": labels}}
    if one.kind == "Deployment":
        manifest["spec"] = {**one.manifest["spec"], "replicas": request.pods}
    return manifest


def _patch(gateway: ClusterGateway, require: Callable[[], None], one: RunObject, manifest: JsonObject) -> None:
    """Only what differs from the stored manifest, onto exactly the object that is there now."""
    ref = ObjectRef.of(one.manifest)
    found = gateway.get(ref)
    if found is None or found["metadata"]["uid"] != one.uid:
        return
    old, new = one.manifest["metadata"]["labels"], manifest["metadata"]["labels"]
    labels: dict[str, Any] = {name: None for name in old if name not in new}
    labels |= {name: value for name, value in new.items() if old.get(name) != value}
    patch: JsonObject = {"metadata": {"labels": labels}} if labels else {}
    if manifest.get("spec", {}).get("replicas") != one.manifest.get("spec", {}).get("replicas"):
        patch["spec"] = {"replicas": manifest["spec"]["replicas"]}
    if patch:
        one.applied_hash = content_hash(_send(gateway, require, one, patch, found))


def _send(
    gateway: ClusterGateway, require: Callable[[], None], one: RunObject, patch: JsonObject, found: JsonObject
) -> JsonObject:
    """The patch, onto exactly what was looked at."""
    require()
    version = found["metadata"]["resourceVersion"]
    return gateway.patch(ObjectRef.of(one.manifest), patch, uid=one.uid, resource_version=version)
