"""Celery's edge of the tenants room: one pass over one namespace, by its id."""

from uuid import UUID

from celery import shared_task

from portal.cluster.factory import gateway_of_pass
from portal.kernel import work
from portal.kernel.work import Lease
from tenants import reconcile, selectors


@shared_task(name="tenantspace.reconcile")
def reconcile_space(object_id: str) -> None:
    """Keeps a team's namespace true."""
    work.run(reconcile.KIND, UUID(object_id), _one_pass)


def _one_pass(lease: Lease) -> float | None:
    space = selectors.space(lease.object_id)
    if space is None:
        reconcile.forget(lease)
        return None
    return reconcile.one(lease, gateway_of_pass(space.cluster, lease))
