"""Periodic work of the kernel itself."""

from celery import shared_task

from portal.kernel import housekeeping, work


@shared_task(name="kernel.sweep")
def sweep() -> int:
    """Every 2 s: tells workers about everything that is due."""
    return work.sweep()


@shared_task(name="kernel.housekeeping")
def clean() -> None:
    """Every minute: removes what has outlived its use."""
    housekeeping.clean()
