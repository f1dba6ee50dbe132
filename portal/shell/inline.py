"""Django's own middleware, run in the event loop: each of its hooks would take a thread, and all they do is compute.

What may ask the database (a session that was changed, messages that were shown, a body with a CSRF token) still goes to
a thread. The order of the stack and what each class does are Django's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from csp.middleware import CSPMiddleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")


class Inline(MiddlewareMixin):
    """Mixed in before one of Django's classes: its `process_request` and `process_response` run where they are."""

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        before: Callable[[HttpRequest], Any] | None = getattr(self, "process_request", None)
        after: Callable[[HttpRequest, Any], HttpResponseBase] | None = getattr(self, "process_response", None)
        response = before(request) if before is not None else None
        if response is None:
            response = await self.get_response(request)  # type: ignore[misc]  # the async chain hands a coroutine on
        if after is None:
            return response  # type: ignore[no-any-return]
        if self.asks(request):
            return await sync_to_async(after)(request, response)
        return after(request, response)

    def asks(self, request: HttpRequest) -> bool:
        """Whether `process_response` may ask the database."""
        return False


class Security(Inline, SecurityMiddleware):
    pass


class ContentSecurityPolicy(Inline, CSPMiddleware):
    pass


class Sessions(Inline, SessionMiddleware):
    def asks(self, request: HttpRequest) -> bool:
        return request.session.modified


class Locale(Inline, LocaleMiddleware):
    pass


class Common(Inline, CommonMiddleware):
    pass


class Csrf(Inline, CsrfViewMiddleware):
    """Reading the token of an unsafe request parses its body, so that goes to a thread."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if self.async_mode:
            self.process_view = self._view_later  # type: ignore[method-assign, assignment]

    async def _view_later(self, request: HttpRequest, callback: Any, args: Any, kwargs: Any) -> Any:
        look = super().process_view
        if request.method in SAFE or getattr(callback, "csrf_exempt", False):
            return look(request, callback, args, kwargs)
        return await sync_to_async(look)(request, callback, args, kwargs)


class Authentication(Inline, AuthenticationMiddleware):
    pass


class Messages(Inline, MessageMiddleware):
    def asks(self, request: HttpRequest) -> bool:
        kept = getattr(request, "_messages", None)
        return kept is not None and (kept.used or kept.added_new)


class FrameOptions(Inline, XFrameOptionsMiddleware):
    pass
