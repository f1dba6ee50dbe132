"""Who may do what in which team: the one place that answers it. Roles are read at use, so a lost one counts at once."""

from __future__ import annotations

from uuid import UUID

from django.utils.translation import gettext_lazy as _

from portal.kernel.actors import Actor, Machine, System
from portal.kernel.errors import Denied, NotFound
from tenants.errors import ScopeMissing, TenantArchived, TenantSuspended
from tenants.models import Membership, Tenant, TenantState
from tenants.roles import Permission, Role, allows


def role_of(actor: Actor, tenant_id: UUID) -> Role | None:
    """The actor's role in the team. A machine has its own in its own team; administrators have none by themselves;
    Turno itself acts as a manager everywhere."""
    if isinstance(actor, System):
        return Role.MANAGER
    if isinstance(actor, Machine):
        return Role(actor.role) if actor.tenant_id == tenant_id else None
    role = Membership.objects.filter(tenant_id=tenant_id, user_id=actor.id).values_list("role", flat=True).first()
    return Role(role) if role is not None else None


def can(actor: Actor, permission: Permission, tenant_id: UUID) -> bool:
    """Whether the actor's role in the team allows it. One query for a person, none for others."""
    return allows(role_of(actor, tenant_id), permission)


def require(actor: Actor, permission: Permission, tenant_id: UUID) -> None:
    """NotFound for those who may not even read the team, Denied for those who may read but not do this."""
    role = role_of(actor, tenant_id)
    if not allows(role, Permission.READ):
        raise not_found()
    if not allows(role, permission):
        raise Denied(_("Your role in this team does not allow this."))


def require_scope(actor: Actor, scope: str) -> None:
    """ScopeMissing unless the token carries it. Sessions carry all scopes, Turno itself needs none."""
    if not isinstance(actor, System) and scope not in actor.scopes:
        raise ScopeMissing(_("This needs a token with the scope “%(scope)s”.") % {"scope": scope})


def is_administrator(actor: Actor) -> bool:
    """Whether the actor acts as the platform's administrator: by session, or by a token with the scope `admin`."""
    return isinstance(actor, System) or (actor.is_admin and "admin" in actor.scopes)


def require_administrator(actor: Actor) -> None:
    """Denied for everybody else."""
    if not is_administrator(actor):
        raise Denied(_("Only an administrator of the platform may do this."))


def is_active(tenant: Tenant) -> bool:
    """Whether new work may start in the team."""
    return tenant.state == TenantState.ACTIVE


def require_active(tenant: Tenant) -> None:
    """TenantSuspended or TenantArchived where nothing new may start."""
    if tenant.state == TenantState.SUSPENDED:
        raise TenantSuspended(_("The team is suspended: nothing new starts until an administrator lifts it."))
    if tenant.state == TenantState.ARCHIVED:
        raise TenantArchived(_("The team is archived: nothing can be started in it any more."))


def not_found() -> NotFound:
    """The same words for a missing thing and for one that is not the actor's to see."""
    return NotFound(_("There is nothing here, or you may not see it."))
