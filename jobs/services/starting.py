"""Submitting and starting: the two doors to a new run, with one set of limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.utils.translation import gettext_lazy as _

from jobs import transitions
from jobs.models import Workload
from jobs.services.history import record
from jobs.services.homes import tell_of_home
from jobs.services.judging import Request, audited, columns, judged, rejudge
from jobs.services.limits import pass_gate, refuse_taken_name, taken
from jobs.services.rights import changeable
from jobs.states import FINAL_STATES, Reason, State
from portal.kernel import clock, ids, work
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict
from portal.kernel.transaction import current, transaction
from tenants.policies import require_active

if TYPE_CHECKING:
    from tenants.selectors import Belonging

SYSTEM = UUID(int=0)  # the owner of what Turno itself starts


def submit(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> Workload:
    """A new workload with its first run, `submitted`. Raises Invalid, Denied, NameTaken, Conflict `max_live`."""
    asked = prepared(actor, kind=kind, data=data)
    with transaction():
        return accept(actor, asked)


def prepared(actor: Actor, *, kind: str, data: Mapping[str, Any], team: Belonging | None = None) -> Request:
    """The first half of `submit`, all that can be said without a lock: raises what it would. `accept` is the other."""
    asked = judged(actor, kind=kind, data=data, team=team)
    # Said here with its holder; two that come at once are told apart by the table.
    refuse_taken_name(asked.tenant.pk, kind, asked.spec.name)
    return asked


def accept(actor: Actor, asked: Request) -> Workload:
    """A judged request becomes a workload, inside the caller's transaction: only what must be atomic is done here.

    Raises NameTaken and Conflict `max_live`; the transaction is over then.
    """
    current()
    spec, flavor, now = asked.spec, asked.flavor, clock.now()
    pass_gate(asked.tenant.pk, asked.team.policy.max_live)
    row = Workload(
        id=ids.uuid7(),
        tenant=asked.tenant,
        cluster=flavor.cluster,
        flavor=flavor,
        kind=spec.kind,
        variant=spec.variant,
        name=spec.name,
        **columns(spec),
        owner_type=actor.type,
        owner_id=actor.id or SYSTEM,
        owner_label=actor.label,
        key_id=next(iter(settings.TOKEN_KEYS)) if spec.kind != "training" else "",
        state=State.SUBMITTED,
        reason=Reason.ACCEPTED,
        state_since=now,
        replicas_desired=spec.pods if spec.kind == "endpoint" else 0,
        created_at=now,
    )
    row.as_of = flavor.as_of  # type: ignore[attr-defined]  # as `selectors.workload` has it
    try:
        row.save(force_insert=True)
    except IntegrityError as error:
        raise taken(row.name) from error
    transitions.open_run(row, number=1, now=now)
    transitions.accepted(row, by=actor, now=now)
    tell_of_home(row)
    record(actor, row, "submit", after=audited(spec))
    work.begin("workload", row.pk)
    return row


def start(actor: Actor, *, workload_id: UUID) -> Workload:
    """A new run of a stopped or final workload; a stopping one starts when its old pods are gone; a live one stays.

    Raises what `submit` raises, judged against the team's limits of today, and NameTaken.
    """
    with transaction():
        row = changeable(actor, workload_id)
        state = State(row.state)
        if state is State.DELETING:
            raise Conflict(_("It is being deleted."), code="deleting")
        if state is State.STOPPING:
            require_active(row.tenant)
            if transitions.amend(row, changes={"start_requested": True}):
                record(actor, row, "start")
                work.wake("workload", row.pk)
            return row
        if state not in FINAL_STATES:
            return row
        require_active(row.tenant)
        pass_gate(row.tenant_id, rejudge(actor, row).policy.max_live)
        refuse_taken_name(row.tenant_id, row.kind, row.name, but=row.pk)
        _restart(actor, row)
    return row


def _restart(actor: Actor, row: Workload) -> None:
    try:
        with transaction():
            transitions.new_run(row, now=clock.now(), by=actor)
    except IntegrityError as error:
        raise taken(row.name) from error
    record(actor, row, "start", after={"run": row.run_number})
    work.wake("workload", row.pk)
