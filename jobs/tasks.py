"""Celery's doors to the jobs room: one pass over one workload, deadlines, orphans."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from jobs import reconcile, services
from jobs.reconcile import orphans
from portal.cluster.factory import gateway_of_pass
from portal.kernel import clock, work
from portal.kernel.work import Lease

KIND = "workload"


@shared_task(name="workload.reconcile")
def reconcile_workload(object_id: str) -> bool:
    """Brings one workload to what is wanted; the message holds only its id."""
    return work.run(KIND, UUID(object_id), _one_pass)


def _one_pass(lease: Lease) -> float | None:
    cluster = reconcile.cluster_of(lease.object_id)
    if cluster is None:
        return None
    return reconcile.one(lease, gateway_of_pass(cluster, lease), clock.now())


@shared_task(name="jobs.enforce_deadlines")
def enforce_deadlines() -> int:
    """Every 5 s: stops what is over its time, notebooks that nobody uses, and what still goes on in archived teams."""
    over = sum(services.stop_by_deadline(workload_id=one) for one in services.over_deadline())
    over += sum(services.stop_idle(workload_id=one) for one in services.idle_too_long())
    return over + sum(services.stop_in_archived_team(workload_id=one) for one in services.in_archived_teams())


@shared_task(name="departure.reconcile")
def tell_of_departure(object_id: str) -> bool:
    """Somebody left a team: the timelines of what they run there say so. The message holds the person's id."""
    return work.run("departure", UUID(object_id), _tell)


def _tell(lease: Lease) -> None:
    services.tell_of_departure(user_id=lease.object_id)


@shared_task(name="jobs.forecast")
def forecast() -> int:
    """Every 5 s: when those who wait will likely start, on every cluster where something changed."""
    return services.forecast_all()


@shared_task(name="jobs.find_orphans")
def find_orphans() -> int:
    """Every 10 s: objects of ours that no open run explains; and tickets that are long over."""
    services.forget_old_tickets()
    return orphans.find()
