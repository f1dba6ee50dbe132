"""Django's error hooks: under `/api/` a problem, everywhere else a page."""

from __future__ import annotations

import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from portal.shell import page_errors, problems
from portal.shell.problems import Problem


class ProblemMiddleware(MiddlewareMixin):
    """What a view under `/api/` (or the database, anywhere) raises becomes a problem; pages have their own."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        problem = problems.problem_of(exception)
        if problem is None:
            return None
        if problems.is_api(request):
            return problems.response(request, problem)
        if problem.status == 503:
            answer = page_errors.show(request, page_errors.UNAVAILABLE)
            answer["Retry-After"] = problem.headers.get("Retry-After", "2")
            return answer
        return None


def _hook(status: int, code: str, page: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    def handler(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
        if problems.is_api(request):
            known = problems.problem_of(exception) if exception is not None else None
            return problems.response(request, known if known and known.status == status else Problem(status, code))
        return page(request, exception)

    return handler


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    """An address without its last slash is told the right one; a page may be redirected there."""
    try:
        resolve(f"{request.path}/")
    except Resolver404:
        if problems.is_api(request):
            return problems.response(request, Problem(404, "not_found"))
        return page_errors.not_found(request, exception or Exception())
    if problems.is_api(request):
        detail = _("The address ends with a slash: %(path)s/") % {"path": request.path}
        return problems.response(request, Problem(404, "not_found", detail))
    if request.method not in ("GET", "HEAD"):
        return page_errors.not_found(request, exception or Exception())
    answer = HttpResponse(status=301)
    query = request.META.get("QUERY_STRING", "")
    answer["Location"] = f"{request.path}/{'?' if query else ''}{query}"
    return answer


def server_error(request: HttpRequest) -> HttpResponseBase:
    """What no view could catch. A database that does not answer (middleware asks it too) is a 503; the rest is a bug:
    the log has the trace under the request id, the answer has nothing of it."""
    error = sys.exc_info()[1]
    known = problems.problem_of(error) if error is not None else None
    away = known if known is not None and known.status == 503 else None
    if problems.is_api(request):
        return problems.response(request, away or Problem(500, "internal"))
    answer = page_errors.server_error(request)
    if away is not None:
        answer.status_code = 503
        answer["Retry-After"] = away.headers["Retry-After"]
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    if problems.is_api(request):
        return problems.response(request, Problem(403, "csrf_failed", _("The CSRF token is missing or wrong.")))
    return page_errors.csrf_failure(request, reason)


bad_request = _hook(400, "bad_request", page_errors.bad_request)
permission_denied = _hook(403, "forbidden", page_errors.permission_denied)
