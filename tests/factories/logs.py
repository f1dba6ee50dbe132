"""Logs as `manage.py logs` keeps them."""

from __future__ import annotations

from datetime import datetime

from jobs.models import Workload
from portal.cluster.models import LogChunk, LogStream
from portal.kernel import clock


def stream(
    row: Workload,
    *,
    run: int = 1,
    pod: str = "train-0",
    container: str = "main",
    life: int = 0,
    at: datetime | None = None,
) -> LogStream:
    """One life of one container of a pod of the workload, which has said nothing yet."""
    return LogStream.objects.create(
        cluster=row.cluster,
        workload_id=row.pk,
        run=run,
        namespace="turno-data",
        pod=pod,
        pod_uid=f"{row.pk}-{run}-{pod}",
        container=container,
        restart=life,
        created_at=at or clock.now(),
    )


def chunk(to: LogStream, text: str, *, seconds: list[list[int]] | None = None, complete: bool = False) -> None:
    """What it says next. `seconds`: pairs of a second and the place in the text from which on it was written."""
    LogChunk.objects.create(stream=to, seq=to.next_seq, text=text, size=len(text), seconds=seconds or [])
    to.next_seq, to.complete = to.next_seq + 1, complete
    to.save(update_fields=["next_seq", "complete"])
