"""Who asks: one async-capable middleware sets `request.actor`; `portal.rest.access` only reads it.

A bearer token wins over the session and needs no CSRF token (a foreign page cannot set the header); a session does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from portal.kernel import clock
from portal.kernel.errors import Unauthenticated
from tenants import authentication

API = "/api/"
BEARER = re.compile(r"bearer +([\x21-\x7e]{1,512})", re.IGNORECASE)


def identify(request: HttpRequest) -> None:
    """Sets `request.actor` (None: nobody known) and, after a bad header, `request.auth_problem`."""
    request.actor = None  # type: ignore[attr-defined]
    header = request.META.get("HTTP_AUTHORIZATION")
    if header is not None and request.path.startswith(API):
        try:
            request.actor = authentication.authenticate(bearer(header), clock.now())  # type: ignore[attr-defined]
        except Unauthenticated as problem:
            request.auth_problem = problem  # type: ignore[attr-defined]
        return
    user = request.user
    if user.is_authenticated:
        request.actor = authentication.person(user)  # type: ignore[attr-defined]


def bearer(header: str) -> str:
    """The token of an Authorization header; Unauthenticated `malformed_token` for anything else."""
    found = BEARER.fullmatch(header.strip(" \t"))
    if found is None:
        message = _("The Authorization header must be `Bearer`, one space and the token, nothing else.")
        raise Unauthenticated(message, code="malformed_token")
    return found.group(1)


def personalize(request: HttpRequest) -> None:
    """The person's language wins over Accept-Language; the person's zone is the zone of the page."""
    actor = request.actor  # type: ignore[attr-defined]
    language = getattr(actor, "language", "")
    if language:
        translation.activate(language)
        request.LANGUAGE_CODE = language
    zone = getattr(actor, "time_zone", "")
    if zone:
        timezone.activate(zone)
    else:
        timezone.deactivate()


class ActorMiddleware:
    """Runs after Django's session and authentication middleware."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._later(request)
        identify(request)
        personalize(request)
        return self.get_response(request)

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        await sync_to_async(identify)(request)
        personalize(request)
        return await cast(Awaitable[HttpResponseBase], self.get_response(request))
