"""Who asks, for which team, for what: every refusal of a request that needs no other workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.models import Workload, split
from jobs.specs import Spec, SpecContext, parse, to_json
from portal.kernel.actors import Actor
from portal.kernel.errors import Denied, Invalid
from quotas import selectors as quotas
from tenants import selectors as tenants
from tenants.policies import require_active, require_scope, role_of
from tenants.roles import Permission, Role, allows

if TYPE_CHECKING:
    from quotas.models import Flavor
    from tenants.models import Tenant

NO_TEAM = _("There is no such team, or you do not belong to it.")


@dataclass(frozen=True)
class Request:
    """A judged request: whose it is and what it asks for."""

    tenant: Tenant
    spec: Spec
    context: SpecContext


def chosen_flavor(spec: Spec) -> Flavor:
    """The row of the flavor that validation accepted; Invalid where it was taken away since."""
    found = quotas.flavor(spec.flavor)
    if found is None:
        raise Invalid.field("flavor", _("This flavor is not offered any more."))
    return found


def judged(actor: Actor, *, kind: str, data: Mapping[str, Any]) -> Request:
    """Who asks, for which team, for what: every refusal that needs no other workload."""
    require_scope(actor, "write")
    tenant, role = _tenant(actor, data)
    if not allows(role, Permission.SUBMIT):
        raise Denied(_("Your role in this team does not allow this."))
    require_active(tenant)
    context = selectors.spec_context(tenant, role, data)
    return Request(tenant, parse(kind, data, context), context)


def _tenant(actor: Actor, data: Mapping[str, Any]) -> tuple[Tenant, Role]:
    if "tenant" not in data:
        raise Invalid.field("tenant", _("This is required."), "required")
    slug = data["tenant"]
    found = tenants.by_slug(slug) if isinstance(slug, str) and len(slug) <= 40 and "\x00" not in slug else None
    role = role_of(actor, found.pk) if found is not None else None
    if found is None or role is None:
        raise Invalid.field("tenant", NO_TEAM)
    return found, role


def audited(spec: Spec) -> dict[str, Any]:
    """A request as the audit log keeps it: of its variables the names alone."""
    return to_json(spec) | {"env": sorted(spec.env)}


def columns(spec: Spec) -> dict[str, Any]:
    """What a row keeps of a spec besides the kind."""
    return {
        **split(spec),
        "project": spec.project,
        "description": spec.description,
        "labels": dict(spec.labels),
        "priority": spec.priority,
    }


def rejudge(actor: Actor, row: Workload) -> None:
    """What the workload asks for, against the team's limits of today: the same refusals as for a new one."""
    request = {name: value for name, value in to_json(row.request).items() if value is not None}
    context = selectors.spec_context(row.tenant, role_of(actor, row.tenant_id), request)
    parse(row.kind, request, context)
