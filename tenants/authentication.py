"""From a token's secret, or a logged-in person, to the actor. Only digests are stored."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from portal.kernel.actors import ALL_SCOPES, Machine, Person
from portal.kernel.errors import Unauthenticated
from tenants.models import Token, User

log = logging.getLogger(__name__)

PREFIX = "turno_"
SECRET = re.compile(r"turno_[A-Za-z0-9_-]{43}")
USE_NOTED_EVERY = timedelta(minutes=1)
# What a request needs of its token; read with each one.
BEARERS = Token.objects.select_related("user").only(
    *("tenant_id", "role", "name", "scopes", "expires_at", "last_used_at"),
    *(f"user__{name}" for name in ("username", "is_superuser", "is_active", "language", "time_zone")),
)


def new_secret() -> str:
    """256 random bits with a prefix that scanners for leaked secrets can recognise."""
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def digest(secret: str) -> str:
    """SHA-256 in hex: enough for 256 random bits, and the same secret is found by one indexed look-up."""
    return hashlib.sha256(secret.encode()).hexdigest()


def authenticate(secret: str, now: datetime) -> Person | Machine:
    """Who bears this secret.

    Raises Unauthenticated: `malformed_token`, `unknown_token` (revoked ones and those of a disabled account too) or
    `expired_token`. `last_used_at` is written at most once a minute.
    """
    if not SECRET.fullmatch(secret):
        raise Unauthenticated(_malformed(secret), code="malformed_token")
    token = BEARERS.filter(digest=digest(secret), revoked_at=None).first()
    if token is None or (token.user is not None and not token.user.is_active):
        raise Unauthenticated(_("This token is not known here, or was revoked."), code="unknown_token")
    if token.expires_at <= now:
        raise Unauthenticated(_("This token has expired; make a new one."), code="expired_token")
    _note_use(token, now)
    return _bearer(token)


def _malformed(secret: str) -> str | Promise:
    """What is wrong with it, without repeating any of it."""
    if secret.startswith(PREFIX):
        return _("This token is not known here: a part of it is missing, or something was added. Copy it whole.")
    return _("This token is not known here: Turno's tokens start with “turno_”.")


def person(user: Any) -> Person:
    """The actor of a session: a logged-in `User`, with all scopes."""
    return _person(user, ALL_SCOPES)


def person_by_id(user_id: UUID) -> Person | None:
    """The actor of a person whose session is known by other means; None where the account is gone or inactive."""
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return None if user is None else _person(user, ALL_SCOPES)


def _bearer(token: Token) -> Person | Machine:
    scopes = frozenset(token.scopes)
    if token.user is not None:
        return _person(token.user, scopes, token)
    assert token.tenant_id is not None  # noqa: S101  token_personal_or_machine
    return Machine(token.pk, token.name, token.tenant_id, token.role, scopes, token.pk)


def _person(user: User, scopes: frozenset[str], token: Token | None = None) -> Person:
    return Person(
        id=user.pk,
        username=user.username,
        is_admin=user.is_superuser,
        scopes=scopes,
        token_id=token.pk if token else None,
        language=user.language,
        time_zone=user.time_zone,
    )


def _note_use(token: Token, now: datetime) -> None:
    if token.last_used_at is not None and token.last_used_at > now - USE_NOTED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_NOTED_EVERY)
    try:
        Token.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    except OperationalError:  # a database that only reads for now still knows who asks
        log.warning("the use of a token could not be noted")
