"""A team's namespace on each cluster: the rows, and waking whoever keeps them true.

A space's id is also the id of the team's queue on that cluster: the room above keeps a row of its own under it, so
waking `queue` with a space's id needs no import upward.
"""

from __future__ import annotations

from uuid import UUID

from portal.cluster import names
from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.transaction import transaction
from tenants.models import Tenant, TenantSpace, TenantState

WOKEN = ("tenantspace", "queue")


def open_all(tenant: Tenant) -> None:
    """Inside the caller's transaction: the team gets a space on every cluster."""
    for cluster in Cluster.objects.order_by("pk"):
        _open(tenant, cluster)


def open_on(cluster: Cluster) -> None:
    """Inside the caller's transaction: every team that is not archived gets a space on a new cluster."""
    for tenant in Tenant.objects.exclude(state=TenantState.ARCHIVED).order_by("pk"):
        _open(tenant, cluster)


def any_on(cluster: Cluster) -> bool:
    """Whether a team has a space on this cluster."""
    return TenantSpace.objects.filter(cluster=cluster).exists()


def wake_all(tenant_id: UUID) -> None:
    """Inside the caller's transaction: the team's spaces and queues are looked at."""
    for pk in TenantSpace.objects.filter(tenant_id=tenant_id).values_list("pk", flat=True):
        wake(pk)


def wake_cluster(cluster_id: UUID) -> None:
    """Inside the caller's transaction: everything of every team on this cluster is looked at."""
    for pk in TenantSpace.objects.filter(cluster_id=cluster_id).values_list("pk", flat=True):
        wake(pk)


def wake(space_id: UUID) -> None:
    for kind in WOKEN:
        work.wake(kind, space_id)


def _open(tenant: Tenant, cluster: Cluster) -> None:
    with transaction():
        row, _created = TenantSpace.objects.get_or_create(
            tenant=tenant, cluster=cluster, defaults={"namespace": names.prefixed(cluster.prefix, tenant.slug)}
        )
        wake(row.pk)
