"""How one reader sees Turno: time zone and appearance."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone

from portal.kernel.actors import Person

THEME_COOKIE, ZONE_COOKIE = "turno_theme", "turno_zone"
THEMES = ("auto", "light", "dark")
ZONES = available_timezones()


def theme_of(request: HttpRequest) -> str:
    """`light`, `dark`, or `auto` where the reader chose nothing."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else "auto"


def zone_of(request: HttpRequest) -> tzinfo:
    """The person's own zone, else the browser's (a cookie set by turno.js), else UTC."""
    actor = getattr(request, "actor", None)
    own = actor.time_zone if isinstance(actor, Person) else ""
    for name in (own, request.COOKIES.get(ZONE_COOKIE, "").replace("%2F", "/")):
        if name in ZONES:
            return ZoneInfo(name)
    return UTC


class ZoneMiddleware:
    """The reader's zone, once the actor is known. Async-capable, so that a long poll holds no thread."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        timezone.activate(zone_of(request))
        return self.get_response(request)


def remember(response: HttpResponse, name: str, value: str) -> None:
    """Keeps a choice for a year in this browser."""
    response.set_cookie(
        name, value, max_age=365 * 86400, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=True
    )
