"""Opening a notebook: `/connect/<id>/` sends the owner there with a ticket; `/connect/check/` is the gateway's
forward-auth, asked about each request at a notebook's own host (headers `X-Forwarded-Host`, `-Uri`, `-Proto`)."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from jobs import services
from jobs.services.connect import TICKET_PARAMETER
from portal.rest.access import actor_of

COOKIE = "turno_connect"


@never_cache
@require_GET
def connect(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Redirects the owner to the notebook with a single-use ticket; errors become pages."""
    session = request.session.session_key or ""
    return HttpResponseRedirect(services.connect_ticket(actor_of(request), workload_id=workload_id, session=session))


@never_cache
def check(request: HttpRequest) -> HttpResponse:
    """200 (with the notebook server's own Authorization), 401, or the redirect that sets the cookie."""
    host = request.headers.get("X-Forwarded-Host", "")
    parts = urlsplit(request.headers.get("X-Forwarded-Uri", "/"))
    query = parse_qsl(parts.query, keep_blank_values=True)
    ticket = dict(query).get(TICKET_PARAMETER)
    if ticket is not None:
        cookie = services.trade_ticket(ticket, host=host)
        if cookie is not None:
            rest = urlencode([(name, value) for name, value in query if name != TICKET_PARAMETER])
            return _enter(request, "/" + parts.path.lstrip("/") + (f"?{rest}" if rest else ""), cookie)
    given = request.COOKIES.get(_cookie_name(request), "")
    allowed = services.connect_allowed(given, host=host)
    if allowed is None:
        text = _("This notebook opens from its page in Turno, for its owner.")
        return HttpResponse(text, status=401, content_type="text/plain; charset=utf-8")
    return HttpResponse(status=200, headers={"Authorization": allowed.authorization})


def _secure(request: HttpRequest) -> bool:
    return request.headers.get("X-Forwarded-Proto") == "https"


def _cookie_name(request: HttpRequest) -> str:
    return f"__Host-{COOKIE}" if _secure(request) else COOKIE


def _enter(request: HttpRequest, path: str, cookie: str) -> HttpResponse:
    """Back to the same address without the ticket; the cookie belongs to this host alone and ends with the browser."""
    answer = HttpResponseRedirect(path)
    answer.set_cookie(_cookie_name(request), cookie, httponly=True, secure=_secure(request), samesite="Lax", path="/")
    return answer
