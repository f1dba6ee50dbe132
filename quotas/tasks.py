"""Celery's edge of the quotas room: one pass over one row, by its id. A task's name is its work kind's."""

from uuid import UUID

from celery import shared_task

from portal.cluster.factory import gateway_of_pass
from portal.kernel import work
from portal.kernel.work import Lease
from quotas import reconcile
from quotas.services import disagreeing, forecasting


@shared_task(name="flavor.reconcile")
def reconcile_flavor(object_id: str) -> None:
    """Keeps a ResourceFlavor true."""
    work.run("flavor", UUID(object_id), _one_pass)


@shared_task(name="cohort.reconcile")
def reconcile_cohort(object_id: str) -> None:
    """Keeps a Cohort true."""
    work.run("cohort", UUID(object_id), _one_pass)


@shared_task(name="priority.reconcile")
def reconcile_priority(object_id: str) -> None:
    """Keeps a WorkloadPriorityClass true."""
    work.run("priority", UUID(object_id), _one_pass)


@shared_task(name="queue.reconcile")
def reconcile_queue(object_id: str) -> None:
    """Keeps a team's ClusterQueue and LocalQueue true."""
    work.run("queue", UUID(object_id), _one_pass)


@shared_task(name="quotas.calibrate")
def calibrate() -> int:
    """Every minute: how past forecasts of likely starts did."""
    return forecasting.calibrate()


@shared_task(name="quotas.compare")
def compare() -> int:
    """Every 15 s: where Kueue and the model of admission differ."""
    return disagreeing.compare()


def _one_pass(lease: Lease) -> float | None:
    cluster = reconcile.cluster_of(lease.kind, lease.object_id)
    if cluster is None:
        reconcile.forget(lease)
        return None
    return reconcile.one(lease, gateway_of_pass(cluster, lease))
