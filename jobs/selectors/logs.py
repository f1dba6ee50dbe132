"""Reading captured logs: who may, and which part."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs.models import Workload
from jobs.selectors.workloads import may, workload
from jobs.states import State
from portal.cluster import logs
from portal.cluster.models import LogStream
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied

SPEAKING = frozenset({State.SUBMITTED, State.QUEUED, State.STARTING, State.RUNNING, State.STOPPING, State.DELETING})


@dataclass(frozen=True)
class LogText:
    """Whole lines. `expected`: more may come; `truncated`: something is missing; `cursor`: for `log_after`."""

    text: str
    truncated: bool
    expected: bool
    cursor: str


def log_access(actor: Actor, workload_id: UUID) -> Workload:
    """The workload; Denied where its logs are its owner's alone."""
    row = workload(actor, workload_id)
    if not may(actor, row).read_logs:
        raise Denied(_("The log of a notebook is its owner's alone."))
    return row


def log_text(
    actor: Actor,
    workload_id: UUID,
    *,
    run: int | None = None,
    container: str = "",
    tail: int = 100,
    since: str = "",
    previous: bool = False,
) -> LogText:
    """The last `tail` lines of a run (the newest where none is named); says to the log reader that somebody looks."""
    row = log_access(actor, workload_id)
    number = row.run_number if run is None else run
    open_now = number == row.run_number and State(row.state) in SPEAKING
    if open_now:
        logs.interest(row.pk)
    found = logs.read(row.pk, run=number, container=container, tail=tail, since=since, previous=previous)
    return LogText(found.text, found.truncated or bool(found.gap), open_now, found.cursor)


def log_containers(actor: Actor, workload_id: UUID, run: int | None = None) -> list[str]:
    """The containers of a run that have said something, by name."""
    row = log_access(actor, workload_id)
    streams = LogStream.objects.filter(workload_id=row.pk, run=row.run_number if run is None else run)
    return sorted(set(streams.values_list("container", flat=True)))


def log_after(workload_id: UUID, *, run: int | None = None, container: str = "", cursor: str = "") -> LogText:
    """What came after `cursor`. The caller has checked who asks."""
    row = Workload.objects.only("run_number", "state").get(pk=workload_id)
    number = row.run_number if run is None else run
    open_now = number == row.run_number and State(row.state) in SPEAKING
    if open_now:
        logs.interest(row.pk)
    found = logs.follow_from(row.pk, run=number, container=container, cursor=cursor)
    return LogText(found.text, found.truncated or bool(found.gap), open_now, found.cursor)
