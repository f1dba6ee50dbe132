"""People, teams, roles and tokens, as rows."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.test import Client

from portal.kernel import clock
from portal.kernel.actors import ALL_SCOPES, Machine, Person
from tenants.models import Membership, Policy, Tenant, Token, User
from tenants.roles import Role


def user(username: str, *, admin: bool = False, password: str | None = None, language: str = "") -> User:
    """A person. Without a password nobody can log in with one (hashing is slow); tests use `signed_in`."""
    row = User(username=username, is_superuser=admin, is_staff=admin, language=language)
    if password is None:
        row.set_unusable_password()
    else:
        row.set_password(password)
    row.save()
    return row


def person(row: User, scopes: Iterable[str] = ALL_SCOPES) -> Person:
    """The actor that a session of this person is."""
    return Person(
        id=row.pk,
        username=row.username,
        is_admin=row.is_superuser,
        scopes=frozenset(scopes),
        language=row.language,
        time_zone=row.time_zone,
    )


def tenant(slug: str, *, name: str = "", cohort: str = "", state: str = "active", **policy: object) -> Tenant:
    """A team with its policy (keywords beyond the named ones are the policy's fields)."""
    row = Tenant.objects.create(slug=slug, name=name or slug.capitalize(), cohort=cohort, state=state)
    Policy.objects.create(tenant=row, **policy)
    return row


def member(team: Tenant, username: str, role: Role = Role.MEMBER) -> Person:
    """A new person in the team, as an actor."""
    row = user(username)
    Membership.objects.create(tenant=team, user=row, role=role)
    return person(row)


def token(
    *,
    user_id: object = None,
    tenant_id: object = None,
    role: str = "",
    scopes: Iterable[str] = ("read", "write"),
    name: str = "test",
    lives: timedelta = timedelta(days=1),
) -> tuple[Token, str]:
    """A token row and the secret it was made from."""
    secret = f"turno_{secrets.token_urlsafe(32)}"
    row = Token.objects.create(
        user_id=user_id,
        tenant_id=tenant_id,
        role=role,
        name=name,
        digest=hashlib.sha256(secret.encode()).hexdigest(),
        scopes=sorted(scopes),
        expires_at=clock.now() + lives,
    )
    return row, secret


def machine(
    team: Tenant, *, role: Role = Role.MEMBER, name: str = "ci", scopes: Iterable[str] = ("read", "write")
) -> Machine:
    """A team's machine, as an actor; its row is a token of the team."""
    row, _ = token(tenant_id=team.pk, role=role.value, scopes=scopes, name=name)
    return Machine(row.pk, name, team.pk, role.value, frozenset(scopes), row.pk)


def bearer(actor: Person | Machine, scopes: Iterable[str] = ("read", "write")) -> dict[str, str]:
    """`headers=` of a request by this actor: a fresh token of the person, or of the machine's team and role."""
    if isinstance(actor, Machine):
        _, secret = token(tenant_id=actor.tenant_id, role=actor.role, scopes=scopes, name=actor.name)
    else:
        _, secret = token(user_id=actor.id, scopes=scopes)
    return {"Authorization": f"Bearer {secret}"}


def signed_in(actor: Person, *, enforce_csrf: bool = False) -> Client:
    """A browser in which this person is logged in."""
    client = Client(enforce_csrf_checks=enforce_csrf)
    client.force_login(User.objects.get(pk=actor.id))
    return client
