"""Removing what has outlived its use, in bounded batches."""

from __future__ import annotations

from datetime import timedelta

from portal.kernel import clock
from portal.kernel.idempotency import KEPT
from portal.kernel.models import IdempotencyRecord, RateBucket

BATCH = 1000


def clean() -> None:
    """Idempotency records older than a day, and rate windows that are over."""
    old = IdempotencyRecord.objects.filter(created_at__lt=clock.now() - KEPT).values_list("pk", flat=True)[:BATCH]
    IdempotencyRecord.objects.filter(pk__in=list(old)).delete()
    RateBucket.objects.filter(window_start__lt=clock.now() - timedelta(hours=1)).delete()
