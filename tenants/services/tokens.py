"""API tokens: a person's own, and a team's machines'. The secret is returned once and never stored."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.utils.translation import gettext as _

from portal.kernel import clock
from portal.kernel.actors import ALL_SCOPES, Actor, Machine, Person
from portal.kernel.errors import Denied
from portal.kernel.transaction import transaction
from tenants import selectors
from tenants.authentication import digest, new_secret
from tenants.models import Tenant, Token, User
from tenants.policies import is_administrator, not_found, require, require_scope, role_of
from tenants.roles import Permission, Role
from tenants.services import history
from tenants.services.fields import Faults, is_line, line_message, role_message
from tenants.services.tenants import refuse_unknown_tenant

LONGEST_LIFE = timedelta(days=366)
LONGEST_NAME = 100


def create_token(
    actor: Actor,
    *,
    name: str,
    scopes: Iterable[str],
    expires_at: datetime,
    tenant: str | None = None,
    role: str | None = None,
) -> tuple[Token, str]:
    """A personal token, or with `tenant` and `role` a machine's (managers). Returns the row and the secret.

    No token makes one that may more than itself. Raises Invalid (`name`, `scopes`, `expires_at`, `tenant`, `role`) or
    Denied: machines and viewers make none.
    """
    require_scope(actor, "write")
    if not isinstance(actor, Person):
        raise Denied(_("A machine makes no tokens."))
    scopes = frozenset(scopes)
    _check(actor, name, scopes, expires_at, machine=tenant is not None, role=role)
    if tenant is None:
        _require_own_tokens(actor)
        return _issue(actor, user_id=actor.id, name=name, scopes=scopes, expires_at=expires_at)
    team = _team(actor, tenant)
    return _issue(actor, tenant=team, role=role or "", name=name, scopes=scopes, expires_at=expires_at)


def issue_personal_token(
    actor: Actor, *, username: str, name: str, scopes: Iterable[str], expires_at: datetime
) -> tuple[Token, str]:
    """A token for somebody else, for Turno itself only: the demo hands its accounts their first one."""
    if isinstance(actor, Person | Machine):
        raise Denied(_("A token is made by the person it belongs to."))
    user = User.objects.get(username=username)
    return _issue(actor, user_id=user.pk, name=name, scopes=frozenset(scopes), expires_at=expires_at)


def revoke_token(actor: Actor, *, token_id: UUID) -> None:
    """Ends one of the actor's own tokens, or a machine's of a team they manage, at once; administrators end any.

    NotFound for all others.
    """
    require_scope(actor, "write")
    row = selectors.any_token(token_id) if is_administrator(actor) else selectors.token(actor, token_id)
    with transaction():
        if not Token.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=clock.now()):
            raise not_found()
        history.of_token(actor, row, "revoked")


def _check(
    actor: Person, name: object, scopes: frozenset[str], expires_at: datetime, *, machine: bool, role: str | None
) -> None:
    faults = Faults()
    faults.unless(is_line(name, LONGEST_NAME), "name", line_message(LONGEST_NAME))
    known = _("Give one or more of read, write and admin.")
    faults.unless(scopes and scopes <= ALL_SCOPES, "scopes", known)
    wide = "admin" in scopes and (machine or not is_administrator(actor))
    narrow = _("This token would be allowed more than whoever makes it.")
    faults.unless(not wide and scopes & ALL_SCOPES <= actor.scopes, "scopes", narrow, "not_allowed")
    faults.unless(expires_at.tzinfo is not None, "expires_at", _("Give a time with its zone."))
    faults.refuse()
    within = clock.now() < expires_at <= clock.now() + LONGEST_LIFE
    faults.unless(within, "expires_at", _("A token expires in the future, within a year."))
    faults.unless(machine or role is None, "role", _("Only a machine's token has a role: name its team too."))
    faults.unless(not machine or role is not None, "role", _("A machine's token needs a role."), "required")
    faults.unless(role is None or role in set(Role), "role", role_message())
    faults.refuse()


def _require_own_tokens(actor: Person) -> None:
    if is_administrator(actor) or selectors.tenant_ids_where(actor, Permission.OWN_TOKENS):
        return
    raise Denied(_("Your role does not allow tokens of your own."))


def _team(actor: Person, slug: str) -> Tenant:
    team = selectors.by_slug(slug)
    if team is None or role_of(actor, team.pk) is None:
        raise refuse_unknown_tenant()
    require(actor, Permission.MACHINE_TOKENS, team.pk)
    return team


def _issue(
    actor: Actor,
    *,
    name: str,
    scopes: frozenset[str],
    expires_at: datetime,
    user_id: UUID | None = None,
    tenant: Tenant | None = None,
    role: str = "",
) -> tuple[Token, str]:
    secret = new_secret()
    with transaction():
        row = Token.objects.create(
            user_id=user_id,
            tenant=tenant,
            role=role,
            name=name,
            digest=digest(secret),
            scopes=sorted(scopes),
            expires_at=expires_at,
        )
        after = {"name": name, "scopes": sorted(scopes), "role": role, "expires_at": expires_at.isoformat()}
        history.of_token(actor, row, "created", after=after)
    return row, secret
