"""Accounts: opening and closing them, passwords, preferences, and the brake on guessing."""

from __future__ import annotations

import re
from datetime import timedelta
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import F
from django.utils.translation import gettext as _

from portal.kernel import clock
from portal.kernel.actors import Actor, Person
from portal.kernel.errors import Denied, Invalid, TooMany
from portal.kernel.lookups import is_askable
from portal.kernel.models import RateBucket
from portal.kernel.transaction import transaction
from tenants.errors import NameTaken
from tenants.models import User
from tenants.policies import not_found, require_administrator, require_scope
from tenants.services import history
from tenants.services.fields import Faults

WINDOW = timedelta(minutes=5)
TRIES_PER_NAME = 10
USERNAME = re.compile(r"[\w.@+-]{1,150}")
TRIES_PER_ADDRESS = 50


def create_user(actor: Actor, *, username: str, password: str, is_admin: bool = False, language: str = "") -> User:
    """A new account. Administrators. Raises Invalid (`username`, `password`, `language`) or NameTaken."""
    require_scope(actor, "write")
    require_administrator(actor)
    row = User(username=username, is_superuser=is_admin, is_staff=is_admin, language=language)
    faults = Faults()
    faults.unless(_is_username(username), "username", _("Use letters, digits and @ . + - _, at most 150."))
    faults.unless(_is_language(language), "language", _("Turno speaks es and en."))
    faults.refuse()
    _check_password(password, row)
    row.set_password(password)
    with transaction():
        try:
            with transaction():
                row.save()
        except IntegrityError as error:
            raise NameTaken(_("Somebody has this username already.")) from error
        history.of_user(actor, row, "created", after={"username": username, "is_admin": is_admin})
    return row


def change_user(actor: Actor, *, username: str, active: bool | None = None, password: str | None = None) -> None:
    """Closes an account (its sessions and tokens end at once, its memberships stay) or opens it again, and gives a new
    password to somebody who lost theirs (their sessions end). None leaves a thing as it is.

    Administrators, but nobody closes their own account. Raises Invalid (`password`), NotFound or Denied.
    """
    require_scope(actor, "write")
    require_administrator(actor)
    row = User.objects.filter(username=username).first() if is_askable(username) else None
    if row is None:
        raise not_found()
    if active is False and row.pk == actor.id:
        raise Denied(_("Another administrator must do this."))
    if password is not None:
        _check_password(password, row)
    with transaction():
        if active is not None and User.objects.filter(pk=row.pk, is_active=not active).update(is_active=active):
            history.of_user(actor, row, "opened" if active else "closed")
        if password is not None:
            row.set_password(password)
            row.save(update_fields=["password"])
            history.of_user(actor, row, "password_set")


def change_password(actor: Actor, *, password: str) -> None:
    """A person's own new password, after the form has asked for the old one. Other sessions end (Django's session
    hash), tokens stay. Sessions only: a token must not be enough to take an account over. Raises Invalid (`password`).
    """
    if not isinstance(actor, Person) or actor.token_id is not None:
        raise Denied(_("Log in to change your password."))
    row = User.objects.get(pk=actor.id)
    _check_password(password, row)
    row.set_password(password)
    with transaction():
        row.save(update_fields=["password"])
        history.of_user(actor, row, "password_changed")


def change_preferences(actor: Actor, *, language: str | None = None, time_zone: str | None = None) -> None:
    """The person's language (`es`, `en`, or empty: the browser's) and time zone (IANA, or empty: the browser's).

    None leaves one as it is. Raises Invalid.
    """
    if not isinstance(actor, Person):
        raise Denied(_("A machine has no preferences."))
    faults = Faults()
    faults.unless(language is None or _is_language(language), "language", _("Turno speaks es and en."))
    known = not time_zone or time_zone in available_timezones()
    faults.unless(known, "time_zone", _("There is no such time zone."))
    faults.refuse()
    given = {"language": language, "time_zone": time_zone}
    User.objects.filter(pk=actor.id).update(**{field: value for field, value in given.items() if value is not None})


def count_sign_in(*, username: str, address: str) -> None:
    """Called before a password is looked at. `address` is where the request comes from.

    Raises TooMany after too many tries within five minutes for this name or from this address. Off in the demo.
    """
    if not settings.RATE_LIMITS:
        return
    _count(f"login:address:{address[:64]}", TRIES_PER_ADDRESS)
    _count(f"login:name:{username[:80].casefold()}"[:128].replace("\0", "?"), TRIES_PER_NAME)


def _count(key: str, limit: int) -> None:
    """One more try in this window, counted by the database so that parallel tries cannot pass it."""
    now = clock.now()
    row = RateBucket.objects.filter(key=key)
    if not row.filter(window_start__gt=now - WINDOW).update(count=F("count") + 1):
        RateBucket.objects.update_or_create(key=key, defaults={"window_start": now, "count": 1})
    held = row.first()
    if held is not None and held.count > limit:
        left = held.window_start + WINDOW - now
        message = _("Too many tries. Wait a few minutes, or ask an administrator for a new password.")
        raise TooMany(message, retry_after=max(1, int(left.total_seconds())))


def _check_password(password: str, user: User) -> None:
    try:
        password_validation.validate_password(password, user)
    except ValidationError as error:
        raise Invalid.field("password", " ".join(error.messages)) from error


def _is_username(value: object) -> bool:
    return isinstance(value, str) and USERNAME.fullmatch(value) is not None


def _is_language(value: object) -> bool:
    return value == "" or value in dict(settings.LANGUAGES)
