"""Submitting and starting: the two doors to a new run, with one set of limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError
from django.db.models import F
from django.utils.translation import gettext_lazy as _

from jobs import selectors, transitions
from jobs.errors import NameTaken
from jobs.models import TenantGate, Workload, split
from jobs.services.history import record
from jobs.services.rights import changeable
from jobs.specs import Spec, SpecContext, parse, to_json
from jobs.states import FINAL_STATES, Reason, State
from portal.kernel import clock, ids, work
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict, Invalid
from portal.kernel.transaction import transaction
from quotas import selectors as quotas
from tenants import selectors as tenants
from tenants.policies import require, require_active, require_scope, role_of
from tenants.roles import Permission

if TYPE_CHECKING:
    from quotas.models import Flavor
    from tenants.models import Tenant

SYSTEM = UUID(int=0)  # the owner of what Turno itself starts
NO_TEAM = _("There is no such team, or you do not belong to it.")


@dataclass(frozen=True)
class Request:
    """A judged request: whose it is and what it asks for."""

    tenant: Tenant
    spec: Spec
    context: SpecContext


def submit(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> Workload:
    """A new workload with its first run, `submitted`. Raises Invalid, Denied, NameTaken, Conflict `max_live`."""
    asked = judged(actor, kind=kind, data=data)
    tenant, spec, now = asked.tenant, asked.spec, clock.now()
    flavor = chosen_flavor(spec)
    with transaction():
        pass_gate(tenant.pk)
        _refuse_taken_name(tenant.pk, kind, spec.name)
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
        record(actor, row, "submit", after=to_json(spec) | {"env": sorted(spec.env)})
        work.wake("workload", row.pk)
    return row


def chosen_flavor(spec: Spec) -> Flavor:
    """The row of the flavor that validation accepted; Invalid where it was taken away since."""
    found = quotas.flavor(spec.flavor)
    if found is None:
        raise Invalid.field("flavor", _("This flavor is not offered any more."))
    return found


def judged(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> Request:
    """Who asks, for which team, for what: every refusal that needs no other workload."""
    require_scope(actor, "write")
    tenant = _tenant(actor, data)
    require(actor, Permission.SUBMIT, tenant.pk)
    require_active(tenant)
    context = selectors.spec_context(tenant, role_of(actor, tenant.pk), data)
    return Request(tenant, parse(kind, data, context), context)


def _tenant(actor: Actor, data: Mapping[str, Any]) -> Tenant:
    if "tenant" not in data:
        raise Invalid.field("tenant", _("This is required."), "required")
    slug = data["tenant"]
    found = tenants.by_slug(slug) if isinstance(slug, str) and len(slug) <= 40 and "\x00" not in slug else None
    if found is None or role_of(actor, found.pk) is None:
        raise Invalid.field("tenant", NO_TEAM)
    return found


def columns(spec: Spec) -> dict[str, Any]:
    """What a row keeps of a spec besides the kind."""
    return {
        **split(spec),
        "project": spec.project,
        "description": spec.description,
        "labels": dict(spec.labels),
        "priority": spec.priority,
    }


def pass_gate(tenant_id: UUID) -> None:
    """First statement of whatever adds a live workload: one at a time where the policy has a limit.

    The touched row is locked until the transaction ends, so parallel submits count each other.
    """
    limit = tenants.policy_of(tenant_id).max_live
    if limit is None:
        return
    if not TenantGate.objects.filter(tenant_id=tenant_id).update(passed=F("passed") + 1):
        TenantGate.objects.get_or_create(tenant_id=tenant_id)
        TenantGate.objects.filter(tenant_id=tenant_id).update(passed=F("passed") + 1)
    check_live(tenant_id, limit)


def check_place(tenant_id: UUID, kind: str, name: str) -> None:
    """What a dry run can tell of other workloads: the limit and the name. Raises what `submit` would."""
    limit = tenants.policy_of(tenant_id).max_live
    if limit is not None:
        check_live(tenant_id, limit)
    _refuse_taken_name(tenant_id, kind, name)


def check_live(tenant_id: UUID, limit: int) -> None:
    """Conflict `max_live` where the team has no place left."""
    count = selectors.live_count(tenant_id)
    if count >= limit:
        message = _(
            "The team's policy allows %(limit)s workloads at a time that are not stopped, finished or being deleted; "
            "there are %(count)s."
        )
        raise Conflict(message % {"limit": limit, "count": count}, code="max_live")


def _refuse_taken_name(tenant_id: UUID, kind: str, name: str, *, but: UUID = SYSTEM) -> None:
    holding = Workload.objects.filter(tenant_id=tenant_id, kind=kind, name=name)
    free = [State.SUCCEEDED, State.FAILED, State.DELETED]
    holder = holding.exclude(state__in=free).exclude(pk=but).only("id", "state").first()
    if holder is not None:
        raise _taken(name, holder)


def _taken(name: str, holder: Workload | None = None) -> NameTaken:
    if holder is None:
        return NameTaken(_("The name “%(name)s” is in use.") % {"name": name})
    values = {"name": name, "id": holder.pk, "state": holder.state}
    message = _("The name “%(name)s” is in use by %(id)s (%(state)s).") % values
    return NameTaken(message, holder=str(holder.pk))


def _save_new(row: Workload) -> None:
    try:
        with transaction():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise _taken(row.name) from error


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
        _refuse_taken_name(row.tenant_id, row.kind, row.name, but=row.pk)
        _restart(actor, row)
    return row


def rejudge(actor: Actor, row: Workload) -> None:
    """What the workload asks for, against the team's limits of today: the same refusals as for a new one."""
    request = {name: value for name, value in to_json(row.request).items() if value is not None}
    context = selectors.spec_context(row.tenant, role_of(actor, row.tenant_id), request)
    parse(row.kind, request, context)


def _restart(actor: Actor, row: Workload) -> None:
    try:
        with transaction():
            transitions.new_run(row, now=clock.now(), by=actor)
    except IntegrityError as error:
        raise _taken(row.name) from error
    record(actor, row, "start", after={"run": row.run_number})
    work.wake("workload", row.pk)
