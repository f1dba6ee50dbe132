"""Submitting and starting: the two doors to a new run, with one set of limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.utils.translation import gettext_lazy as _

from jobs import transitions
from jobs.models import Workload
from jobs.services.history import record
from jobs.services.homes import tell_of_home
from jobs.services.judging import audited, chosen_flavor, columns, judged, rejudge
from jobs.services.limits import pass_gate, refuse_taken_name, taken
from jobs.services.rights import changeable
from jobs.states import FINAL_STATES, Reason, State
from portal.kernel import clock, ids, work
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict
from portal.kernel.transaction import transaction
from tenants.policies import require_active

SYSTEM = UUID(int=0)  # the owner of what Turno itself starts


def submit(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> Workload:
    """A new workload with its first run, `submitted`. Raises Invalid, Denied, NameTaken, Conflict `max_live`."""
    asked = judged(actor, kind=kind, data=data)
    tenant, spec, now = asked.tenant, asked.spec, clock.now()
    flavor = chosen_flavor(spec)
    with transaction():
        pass_gate(tenant.pk)
        refuse_taken_name(tenant.pk, kind, spec.name)
        key_id = next(iter(settings.TOKEN_KEYS))
        row = Workload(
            id=ids.uuid7(),
            tenant=tenant,
            cluster=flavor.cluster,
            flavor=flavor,
            kind=kind,
            variant=spec.variant,
            name=spec.name,
            **columns(spec),
            owner_type=actor.type,
            owner_id=actor.id or SYSTEM,
            owner_label=actor.label,
            key_id=key_id if kind != "training" else "",
            state=State.SUBMITTED,
            reason=Reason.ACCEPTED,
            state_since=now,
            replicas_desired=spec.pods if kind == "endpoint" else 0,
            created_at=now,
        )
        _save_new(row)
        transitions.open_run(row, number=1, now=now)
        transitions.accepted(row, by=actor, now=now)
        tell_of_home(row)
        record(actor, row, "submit", after=audited(spec))
        work.wake("workload", row.pk)
    return row


def _save_new(row: Workload) -> None:
    try:
        with transaction():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise taken(row.name) from error


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
        rejudge(actor, row)
        pass_gate(row.tenant_id)
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
