"""What an actor may read of teams, members, tokens and the audit log. An outsider gets NotFound, never Denied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from portal.audit import selectors as audit_log
from portal.audit.models import AuditEvent
from portal.kernel.actors import Actor, Machine, Person
from portal.kernel.lookups import is_askable
from tenants.models import Membership, Policy, Tenant, TenantSpace, Token, User
from tenants.policies import is_administrator, not_found, require, require_administrator, role_of
from tenants.roles import GRANTS, Permission, Role

LONGEST_SLUG = 40


@dataclass(frozen=True)
class Belonging:
    """One actor in one team: what every request for work is judged by."""

    tenant: Tenant
    role: Role
    policy: Policy


def belonging(actor: Actor, slug: object) -> Belonging | None:
    """The actor's place in the team of this slug; None for a missing team and for one that is not the actor's.

    One query. `slug` may be whatever a request brought.
    """
    if not isinstance(slug, str) or len(slug) > LONGEST_SLUG or not is_askable(slug):
        return None
    rows = Policy.objects.filter(tenant__slug=slug).select_related("tenant")
    if isinstance(actor, Person):
        own = Membership.objects.filter(tenant=OuterRef("pk"), user_id=actor.id)
        rows = rows.annotate(role=Subquery(own.values("role")[:1]))
    elif isinstance(actor, Machine):
        rows = rows.filter(tenant_id=actor.tenant_id)
    row = rows.first()
    if row is None:
        return None
    role = getattr(row, "role", None) if isinstance(actor, Person) else role_of(actor, row.pk)
    return None if role is None else Belonging(row.tenant, Role(role), row)


def tenants(actor: Actor) -> QuerySet[Tenant]:
    """The teams the actor belongs to; all of them for an administrator. By slug."""
    rows = Tenant.objects.order_by("slug")
    return rows if is_administrator(actor) else rows.filter(pk__in=tenant_ids(actor))


def tenant(actor: Actor, slug: str) -> Tenant:
    """NotFound for those who neither belong to it nor administer the platform."""
    row = by_slug(slug)
    if row is None or not (is_administrator(actor) or role_of(actor, row.pk) is not None):
        raise not_found()
    return row


def tenant_to_manage(actor: Actor, slug: str) -> Tenant:
    """A team whose members and policy the actor may change: its managers and administrators. NotFound or Denied."""
    row = tenant(actor, slug)
    if not is_administrator(actor):
        require(actor, Permission.MEMBERS, row.pk)
    return row


def tenant_ids(actor: Actor) -> list[UUID]:
    """The teams in which the actor has a role: what lists of workloads start from. Empty means nothing, never all."""
    if isinstance(actor, Machine):
        return [actor.tenant_id]
    if isinstance(actor, Person):
        return list(Membership.objects.filter(user_id=actor.id).values_list("tenant_id", flat=True))
    return list(Tenant.objects.values_list("pk", flat=True))


def tenant_ids_where(actor: Actor, permission: Permission) -> list[UUID]:
    """The teams in which the actor's role allows this."""
    if isinstance(actor, Person):
        roles = [role for role in Role if permission in GRANTS[role]]
        rows = Membership.objects.filter(user_id=actor.id, role__in=roles)
        return list(rows.values_list("tenant_id", flat=True))
    return [pk for pk in tenant_ids(actor) if permission in GRANTS[role_of(actor, pk) or Role.VIEWER]]


def memberships(actor: Actor) -> list[tuple[Tenant, Role]]:
    """The actor's teams with the role in each, by slug. Two queries at most."""
    if isinstance(actor, Person):
        rows = Membership.objects.filter(user_id=actor.id).select_related("tenant").order_by("tenant__slug")
        return [(row.tenant, Role(row.role)) for row in rows]
    if isinstance(actor, Machine):
        return [(row, Role(actor.role)) for row in Tenant.objects.filter(pk=actor.tenant_id)]
    return []


def members(actor: Actor, slug: str) -> QuerySet[Membership]:
    """Who is in the team, with `user` loaded, by username."""
    return Membership.objects.filter(tenant=tenant(actor, slug)).select_related("user").order_by("user__username")


def member(actor: Actor, slug: str, username: str) -> Membership:
    """NotFound for a person who is not in the team."""
    rows = members(actor, slug)
    row = rows.filter(user__username=username).first() if is_askable(username) else None
    if row is None:
        raise not_found()
    return row


def member_to_manage(actor: Actor, slug: str, username: str) -> Membership:
    """A member whom the actor may change. NotFound or Denied."""
    tenant_to_manage(actor, slug)
    return member(actor, slug, username)


def policy(actor: Actor, slug: str) -> Policy:
    """The team's policy."""
    return policy_of(tenant(actor, slug).pk)


def tokens(actor: Actor) -> QuerySet[Token]:
    """The person's own tokens and the machine tokens of the teams they manage (a machine: its own), newest first."""
    live = Token.objects.filter(revoked_at=None).select_related("tenant").order_by("-pk")
    if isinstance(actor, Machine):
        return live.filter(pk=actor.id)
    managed = tenant_ids_where(actor, Permission.MACHINE_TOKENS)
    return live.filter(Q(user_id=actor.id, user__isnull=False) | Q(tenant_id__in=managed))


def token(actor: Actor, token_id: UUID) -> Token:
    """One of `tokens`; NotFound otherwise."""
    row = tokens(actor).filter(pk=token_id).first()
    if row is None:
        raise not_found()
    return row


def any_token(token_id: UUID) -> Token:
    """A token of anybody: for administrators, who end what was leaked."""
    row = Token.objects.filter(pk=token_id, revoked_at=None).select_related("tenant").first()
    if row is None:
        raise not_found()
    return row


def audit(actor: Actor, slug: str | None = None) -> QuerySet[AuditEvent]:
    """Newest first: everything for an administrator, the managed teams' for others; one team's where `slug` is given.

    NotFound for a team whose audit log the actor may not read.
    """
    if is_administrator(actor):
        return audit_log.events(None if slug is None else [tenant(actor, slug).pk])
    readable = tenant_ids_where(actor, Permission.READ_AUDIT)
    if slug is None:
        return audit_log.events(readable)
    row = tenant(actor, slug)
    if row.pk not in readable:
        raise not_found()
    return audit_log.events([row.pk])


def has_account(actor: Actor, username: str) -> bool:
    """Whether somebody has this username. For administrators."""
    require_administrator(actor)
    return User.objects.filter(username=username).exists()


# Below: for the rooms above and the reconcilers, which have checked who asks.


def by_id(tenant_id: UUID) -> Tenant:
    """The team of an id that a row of ours holds."""
    return Tenant.objects.get(pk=tenant_id)


def by_slug(slug: str) -> Tenant | None:
    """The team of this slug, whoever asks."""
    return Tenant.objects.filter(slug=slug).first() if is_askable(slug) else None


def teams_of(user_id: UUID) -> list[UUID]:
    """The teams a person belongs to now."""
    return list(Membership.objects.filter(user_id=user_id).values_list("tenant_id", flat=True))


def policy_of(tenant_id: UUID) -> Policy:
    """The team's policy, by id."""
    return Policy.objects.get(pk=tenant_id)


def space(space_id: UUID) -> TenantSpace | None:
    """A team's namespace on one cluster with `tenant` and `cluster` loaded; None when the row is gone."""
    return TenantSpace.objects.select_related("tenant", "cluster").filter(pk=space_id).first()


def space_of(tenant_id: UUID, cluster_id: UUID) -> TenantSpace | None:
    """The team's namespace on that cluster; None before it was opened."""
    return TenantSpace.objects.filter(tenant_id=tenant_id, cluster_id=cluster_id).first()


def spaces(*, tenant_id: UUID | None = None, cluster_id: UUID | None = None) -> QuerySet[TenantSpace]:
    """The namespaces of a team, or on a cluster, with `tenant` and `cluster` loaded."""
    rows = TenantSpace.objects.select_related("tenant", "cluster").order_by("pk")
    if tenant_id is not None:
        rows = rows.filter(tenant_id=tenant_id)
    return rows if cluster_id is None else rows.filter(cluster_id=cluster_id)


def ids_in_cohorts(names: Iterable[str]) -> list[UUID]:
    """The teams whose quotas belong to one of the cohorts of these names."""
    return list(Tenant.objects.filter(cohort__in=list(names)).values_list("pk", flat=True))


def cluster_ids(tenant_ids: Iterable[UUID]) -> list[UUID]:
    """The clusters on which any of the given teams has a space."""
    rows = TenantSpace.objects.filter(tenant_id__in=list(tenant_ids))
    return list(rows.values_list("cluster_id", flat=True).distinct())


def clusters_of(tenant_ids: Iterable[UUID]) -> dict[UUID, frozenset[UUID]]:
    """By team, of the given ones: the clusters on which it has a space. One query."""
    wanted = list(tenant_ids)
    rows = TenantSpace.objects.filter(tenant_id__in=wanted).values_list("tenant_id", "cluster_id")
    found: dict[UUID, set[UUID]] = {tenant_id: set() for tenant_id in wanted}
    for tenant_id, cluster_id in rows:
        found[tenant_id].add(cluster_id)
    return {tenant_id: frozenset(clusters) for tenant_id, clusters in found.items()}


def cluster_ids_of(tenant_id: UUID) -> QuerySet[TenantSpace, UUID]:
    """The clusters on which the team has a space, as a part of another query."""
    return TenantSpace.objects.filter(tenant_id=tenant_id).values_list("cluster_id", flat=True)
