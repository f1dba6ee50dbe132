"""A run's manifests: rendered once, stored, never rendered again. Only start and retry render."""

from __future__ import annotations

from datetime import datetime

from jobs.manifests.catalogue import BUILDERS_REVISION, render
from jobs.models import Run, RunObject, Workload
from jobs.reconcile.loading import Situation
from jobs.services import plan
from portal.kernel.transaction import transaction
from portal.kernel.work import Lease

KIND = "PersistentVolumeClaim"
CLAIM = f"{KIND}/"


def known_claim(row: Workload) -> str:
    """The home that earlier runs used, whatever names look like now; "" where there is none yet."""
    return next((key.removeprefix(CLAIM) for key in row.applied if key.startswith(CLAIM)), "")


def home_of(at: Situation) -> str:
    """The claim that the next run mounts, "" where there is none: what earlier ones used, whatever names look like now.

    Records that are older than the cluster may not know of it: then the one on the cluster with the workload's label.
    """
    before = [one.name for one in at.objects if one.kind == KIND and one.run.number != at.run.number]
    mirrored = [one.name for one in at.mirror if one.kind == KIND and one.ours]
    return next((name for name in (known_claim(at.workload), *before, *mirrored) if name), "")


def store(at: Situation, lease: Lease, *, namespace: str, now: datetime) -> None:
    """Renders the open run and keeps what came out, with markers in place of secret values."""
    row, run = at.workload, at.run
    made = render(plan(row, at.spec, run=run.number, namespace=namespace, claim=home_of(at)))
    with transaction():
        lease.fence()
        rendered = Run.objects.filter(pk=run.pk, rendered_at=None)
        if not rendered.update(rendered_at=now, builders_revision=BUILDERS_REVISION):
            return
        RunObject.objects.bulk_create(
            RunObject(
                workload=row,
                run=run,
                ordinal=ordinal,
                kind=one.manifest["kind"],
                namespace=one.manifest["metadata"]["namespace"],
                name=one.manifest["metadata"]["name"],
                owned_by_workload=one.owned_by_workload,
                manifest=one.manifest,
            )
            for ordinal, one in enumerate(made)
        )
        Workload.objects.filter(pk=row.pk).update(applied_revision=row.spec_revision)
    run.rendered_at = now
    row.applied_revision = row.spec_revision
    at.objects = list(RunObject.objects.filter(workload=row).select_related("run").order_by("run__number", "ordinal"))
