"""Reading who asks, and DRF's two hooks for it. `portal.shell.authentication` has set `request.actor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.translation import gettext_lazy as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from portal.kernel.actors import Actor
from portal.kernel.errors import Denied, Unauthenticated

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module through DRF's settings


def actor_of(request: HttpRequest | Request) -> Actor:
    """The known actor, or Unauthenticated with the words for what was wrong."""
    plain = request._request if isinstance(request, Request) else request
    actor = getattr(plain, "actor", None)
    if actor is None:
        raise getattr(plain, "auth_problem", None) or Unauthenticated(_("Log in, or send a bearer token."))
    return cast(Actor, actor)


def require_scope(actor: Actor, scope: str) -> None:
    """Denied unless the token (or session) carries the scope."""
    if actor.type != "system" and scope not in actor.scopes:  # type: ignore[union-attr]
        raise Denied(_("The token lacks the scope “%(scope)s”.") % {"scope": scope}, code="missing_scope")


class _Check(CsrfViewMiddleware):
    def _reject(self, request: HttpRequest, reason: str) -> Any:
        return reason


class ActorAuthentication(BaseAuthentication):
    """Hands the middleware's actor to DRF; a session must bring its CSRF token for unsafe methods."""

    def authenticate(self, request: Request) -> tuple[Actor, None] | None:
        actor = getattr(request._request, "actor", None)
        if actor is None:
            return None
        if request.method not in SAFE_METHODS and "HTTP_AUTHORIZATION" not in request.META:
            check = _Check(lambda _request: None)  # type: ignore[arg-type]
            check.process_request(request._request)
            if check.process_view(request._request, None, (), {}):  # type: ignore[arg-type]
                raise Denied(_("The CSRF token is missing or wrong."), code="csrf_failed")
        return actor, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasScope(BasePermission):
    """Known at all, and with the scope of the method: `read` for GET and HEAD, `write` for the rest."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        actor = actor_of(request)
        require_scope(actor, "read" if request.method in SAFE_METHODS else "write")
        return True
