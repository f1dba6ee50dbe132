"""Reading captured logs: who may, and which part."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError
from django.utils.translation import gettext_lazy as _

from jobs.models import Run, Workload
from jobs.selectors.workloads import may, workload
from jobs.states import State
from portal.cluster import logs
from portal.cluster.models import LogStream
from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied
from tenants.policies import not_found

log = logging.getLogger(__name__)

SPEAKING = frozenset({State.SUBMITTED, State.QUEUED, State.STARTING, State.RUNNING, State.STOPPING, State.DELETING})
# A pod's last lines are kept a little after its end; a log reader that is down must not keep anybody waiting for long.
LATE = timedelta(seconds=30)


@dataclass(frozen=True)
class LogText:
    """Whole lines. `expected`: more may come; `ending`: the run is over and its last lines are still being kept;
    `truncated`: something is missing; `cursor`: for `log_after`."""

    text: str
    truncated: bool
    expected: bool
    ending: bool
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
    tail: int | None = 100,
    since: str = "",
    previous: bool = False,
) -> LogText:
    """The last `tail` lines of a run (None: all; the newest run where none is named).

    Says to the log reader that somebody looks. NotFound for a run that there never was.
    """
    row = log_access(actor, workload_id)
    number = _known(row, run)
    speaking, ending = _outlook(row, number)
    found = logs.read(row.pk, run=number, container=container, tail=tail, since=since, previous=previous)
    return LogText(found.text, found.truncated or bool(found.gap), speaking or ending, ending, found.cursor)


def log_containers(actor: Actor, workload_id: UUID, run: int | None = None) -> list[str]:
    """The containers of a run that have said something, by name."""
    row = log_access(actor, workload_id)
    streams = LogStream.objects.filter(workload_id=row.pk, run=_known(row, run))
    return sorted(set(streams.values_list("container", flat=True)))


def log_after(workload_id: UUID, *, run: int | None = None, container: str = "", cursor: str = "") -> LogText:
    """What came after `cursor`. The caller has checked who asks."""
    row = Workload.objects.only("run_number", "state").get(pk=workload_id)
    number = row.run_number if run is None else run
    speaking, ending = _outlook(row, number)
    found = logs.follow_from(row.pk, run=number, container=container, cursor=cursor)
    return LogText(found.text, found.truncated or bool(found.gap), speaking or ending, ending, found.cursor)


def _known(row: Workload, run: int | None) -> int:
    """The number of an existing run: the newest where none is named. Runs are numbered without gaps."""
    if run is None:
        return row.run_number
    if not 1 <= run <= row.run_number:
        raise not_found()
    return run


def _outlook(row: Workload, number: int) -> tuple[bool, bool]:
    """(the run may still speak, it is over but its end is still being kept); asked before the text is read.

    While it may speak, the log reader is told that somebody looks.
    """
    if number == row.run_number and State(row.state) in SPEAKING:
        try:
            logs.interest(row.pk)
        except OperationalError:  # a database that only reads for now still shows what it has
            log.warning("the log reader could not be told that somebody looks")
        return True, False
    just_ended = Run.objects.filter(workload=row, number=number, ended_at__gt=clock.now() - LATE).exists()
    return False, just_ended and not logs.is_captured(row.pk, number)
