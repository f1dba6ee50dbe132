"""Who took the place of running work, by which rule, when, and what is known of the work that was lost.

From allocations only: what was kept at the time, in the words that the victim's team may know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.translation import gettext

from jobs.models import Workload
from jobs.selectors import words
from jobs.selectors.workloads import workload
from jobs.states import State
from portal.cluster import logs
from portal.kernel import clock
from portal.kernel.actors import Actor
from quotas import selectors as quotas
from tenants.policies import not_found, role_of
from tenants.roles import Permission, allows

if TYPE_CHECKING:
    from quotas.models import Allocation
    from tenants.models import Tenant

SHOWN_FOR = timedelta(days=7)
# A job that prints such a line when it has saved its progress lets Turno say how much was lost.
CHECKPOINT = "turno: checkpoint"
LOOKED_UP = 5
EXACT_S = 180  # what is shorter is told in seconds


@dataclass(frozen=True)
class Taken:
    """One preemption of one workload. `held`: how long it had held its `gpus` units when they were taken.

    `by`, `rule`: in the reader's language. `name` is empty and `kind` as it was where the workload is deleted.
    `checkpoint_path`: where the request says that it saves its work; Turno does not see what is written there.
    `saved_at`: when its log last told of a checkpoint before that; None where it did not, or it was not looked up.
    """

    at: datetime
    by: str
    rule: str
    flavor: str
    gpus: int
    held: timedelta
    run: int
    workload_id: UUID
    kind: str
    name: str
    owner: str
    checkpoint_path: str
    saved_at: datetime | None = None

    @property
    def lost(self) -> str:
        """What is known of the work since the last checkpoint, in a sentence that promises no more than that."""
        if self.kind != "training":
            return gettext("What was not saved on its disk is lost.")
        if self.saved_at is not None:
            seconds = int((self.at - self.saved_at).total_seconds())
            if seconds < EXACT_S:
                told = gettext("It told of a checkpoint %(n)s s before: the work since then is lost.")
                return told % {"n": seconds}
            told = gettext("It told of a checkpoint %(n)s min before: the work since then is lost.")
            return told % {"n": seconds // 60}
        if self.checkpoint_path:
            told = gettext(
                "It goes on from the last checkpoint in %(path)s; when that was written is unknown, so at most its "
                "time since the start is lost."
            )
            return told % {"path": self.checkpoint_path}
        return gettext(
            "It names no checkpoint path: how much work is lost is unknown, at most its time since the start."
        )


def taken_from_workload(actor: Actor, workload_id: UUID) -> list[Taken]:
    """Every time that this workload's place was taken, newest first."""
    row = workload(actor, workload_id)
    rows = [one for one in quotas.allocations(row.pk) if one.why == quotas.PREEMPTED and one.released_at is not None]
    return _with_checkpoint(_stories(reversed(rows), {row.pk: row}))


def taken_from_team(actor: Actor, tenant: Tenant) -> list[Taken]:
    """What was taken back from the team in the last seven days, newest first; NotFound for outsiders.

    Two queries, and a few for checkpoints.
    """
    if not allows(role_of(actor, tenant.pk), Permission.READ):
        raise not_found()
    rows = quotas.taken_back(tenant.pk, clock.now() - SHOWN_FOR)
    named = Workload.objects.filter(tenant=tenant, pk__in={one.workload_id for one in rows})
    return _with_checkpoint(_stories(rows, {row.pk: row for row in named.exclude(state=State.DELETED).defer("bulk")}))


def _with_checkpoint(found: list[Taken]) -> list[Taken]:
    """The newest few with the time of their last checkpoint; one query for each of those."""
    return [replace(one, saved_at=_saved_at(one)) for one in found[:LOOKED_UP]] + found[LOOKED_UP:]


def _saved_at(one: Taken) -> datetime | None:
    if one.kind != "training":
        return None
    return logs.last_line(one.workload_id, run=one.run, begins=CHECKPOINT, before=one.at)


def _stories(rows: Iterable[Allocation], named: dict[UUID, Workload]) -> list[Taken]:
    """One for each workload and moment: several pods that left together are one preemption."""
    found: dict[tuple[UUID, datetime, str], Taken] = {}
    for one in rows:
        assert one.released_at is not None  # noqa: S101  both callers ask for what was released
        key = (one.workload_id, one.released_at, one.flavor)
        row = named.get(one.workload_id)
        before = found.get(key)
        found[key] = Taken(
            at=one.released_at,
            by=words.taker(one.by),
            rule=words.rule(one.rule),
            flavor=one.flavor,
            gpus=one.units + (before.gpus if before else 0),
            held=max(one.released_at - one.admitted_at, before.held if before else timedelta()),
            run=one.run,
            workload_id=one.workload_id,
            kind=one.workload_kind,
            name=row.name if row else "",
            owner=one.owner_label,
            checkpoint_path=str((row.spec.get("checkpoint_path") if row else "") or ""),
        )
    return list(found.values())
