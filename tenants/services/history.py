"""Every command leaves one audit row and one feed entry, in its own transaction."""

from __future__ import annotations

from collections.abc import Mapping

from portal.audit import services as audit
from portal.kernel import feed
from portal.kernel.actors import Actor
from tenants.models import Tenant, Token, User

Fields = Mapping[str, object]


def of_tenant(
    actor: Actor,
    tenant: Tenant,
    verb: str,
    *,
    message: str,
    params: Fields | None = None,
    before: Fields | None = None,
    after: Fields | None = None,
) -> None:
    """Something happened to a team. `message` is a msgid for the team's feed, `params` its values."""
    audit.record(
        actor=actor,
        verb=f"tenant.{verb}",
        target_type="tenant",
        target_id=tenant.pk,
        target_label=tenant.slug,
        tenant_id=tenant.pk,
        tenant_slug=tenant.slug,
        before=before,
        after=after,
    )
    feed.append(
        scope=feed.tenant_scope(tenant.pk),
        topic="tenant",
        object_id=tenant.pk,
        type=verb,
        message=message,
        params=params,
        by=actor,
    )


def of_user(actor: Actor, user: User, verb: str, *, before: Fields | None = None, after: Fields | None = None) -> None:
    """Something happened to an account. It belongs to no team, so only the audit log tells."""
    audit.record(
        actor=actor,
        verb=f"user.{verb}",
        target_type="user",
        target_id=user.pk,
        target_label=user.username,
        before=before,
        after=after,
    )


def of_token(actor: Actor, token: Token, verb: str, *, after: Fields | None = None) -> None:
    """A token came or went; never its secret."""
    audit.record(
        actor=actor,
        verb=f"token.{verb}",
        target_type="token",
        target_id=token.pk,
        target_label=token.name,
        tenant_id=token.tenant_id,
        tenant_slug=token.tenant.slug if token.tenant else "",
        after=after,
    )
