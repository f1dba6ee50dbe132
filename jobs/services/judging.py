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
from tenants.policies import not_found, require_active, require_scope
from tenants.roles import Permission, allows

if TYPE_CHECKING:
    from quotas.models import Flavor
    from tenants.models import Tenant
    from tenants.selectors import Belonging

NO_TEAM = _("There is no such team, or you do not belong to it.")


@dataclass(frozen=True)
class Request:
    """A judged request: whose it is and what it asks for, with all that was read to judge it."""

    team: Belonging
    spec: Spec
    context: SpecContext
    flavor: Flavor

    @property
    def tenant(self) -> Tenant:
        return self.team.tenant


def chosen_flavor(spec: Spec) -> Flavor:
    """The row of the flavor that validation accepted; Invalid where it was taken away since."""
    found = quotas.flavor(spec.flavor)
    if found is None:
        raise Invalid.field("flavor", _("This flavor is not offered any more."))
    return found


def judged(actor: Actor, *, kind: str, data: Mapping[str, Any], team: Belonging | None = None) -> Request:
    """Who asks, for which team, for what: every refusal that needs no other workload. Reads only, and takes no lock.

    `team`: the actor's place in the team that `data` names, where the caller has just read it.
    """
    require_scope(actor, "write")
    team = team or _team(actor, data)
    if not allows(team.role, Permission.SUBMIT):
        raise Denied(_("Your role in this team does not allow this."))
    require_active(team.tenant)
    context, flavor = selectors.judged_by(team, data)
    spec = parse(kind, data, context)
    assert flavor is not None  # noqa: S101  `parse` refuses a flavor that the context does not have
    return Request(team, spec, context, flavor)


def _team(actor: Actor, data: Mapping[str, Any]) -> Belonging:
    if "tenant" not in data:
        raise Invalid.field("tenant", _("This is required."), "required")
    found = tenants.belonging(actor, data["tenant"])
    if found is None:
        raise Invalid.field("tenant", NO_TEAM)
    return found


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


def rejudge(actor: Actor, row: Workload) -> Belonging:
    """What the workload asks for, against the team's limits of today: the same refusals as for a new one."""
    team = belonging(actor, row)
    request = {name: value for name, value in to_json(row.request).items() if value is not None}
    parse(row.kind, request, selectors.spec_context(team, request))
    return team


def belonging(actor: Actor, row: Workload) -> Belonging:
    """The actor's place in the team of a workload that they may change."""
    found = tenants.belonging(actor, row.tenant.slug)
    if found is None:
        raise not_found()
    return found
