"""The only place where errors become HTTP: RFC 9457 problems under `/api/`, for DRF and for plain views alike."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as drf
from rest_framework.views import set_rollback

from portal.kernel import errors

MEDIA_TYPE = "application/problem+json"
log = logging.getLogger(__name__)

STATUS: dict[type[errors.PortalError], int] = {
    errors.BadRequest: 400,
    errors.Unauthenticated: 401,
    errors.Denied: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.PreconditionFailed: 412,
    errors.Invalid: 422,
    errors.TooMany: 429,
    errors.Unavailable: 503,
}
TITLES: dict[int, Any] = {
    400: _("The request cannot be read"),
    401: _("Not authenticated"),
    403: _("Not allowed"),
    404: _("Not found"),
    405: _("Method not allowed"),
    406: _("Not acceptable"),
    409: _("Conflict"),
    412: _("Precondition failed"),
    413: _("Too large"),
    415: _("Media type not supported"),
    422: _("A field cannot be accepted"),
    429: _("Too many requests"),
    500: _("Something went wrong"),
    503: _("Not available now"),
}


@dataclass
class Problem:
    """What will be answered."""

    status: int
    code: str
    detail: str = ""
    fields: list[dict[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


def problem_of(error: BaseException) -> Problem | None:
    """The problem for an error; None where it is none of ours (a bug: 500)."""
    if isinstance(error, errors.PortalError):
        return _of_portal(error)
    if isinstance(error, drf.APIException):
        return _of_drf(error)
    if isinstance(error, Http404):
        return Problem(404, "not_found")
    if isinstance(error, PermissionDenied):
        return Problem(403, "forbidden")
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "too_large", str(_("The body may have at most 1 MiB.")))
    if isinstance(error, SuspiciousOperation):
        return Problem(400, "bad_request", str(_("The request was refused.")))
    if isinstance(error, OperationalError | InterfaceError):
        log.warning("database does not answer: %s", type(error).__name__)
        detail = str(_("The database does not answer; try again."))
        return Problem(503, "unavailable", detail, headers={"Retry-After": "2"})
    return None


def _of_portal(error: errors.PortalError) -> Problem:
    status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
    problem = Problem(status, error.code, str(error.message))
    if isinstance(error, errors.Invalid):
        problem.detail = str(error.message)
        problem.fields = [{"field": e.field, "code": e.code, "message": str(e.message)} for e in error.errors]
    if isinstance(error, errors.TooMany | errors.Unavailable):
        problem.headers["Retry-After"] = str(error.retry_after)
    if status == 401:
        problem.headers["WWW-Authenticate"] = 'Bearer realm="turno"'
    return problem


def _of_drf(error: drf.APIException) -> Problem:
    if isinstance(error, drf.ValidationError):
        fields = list(_flatten(error.get_full_details()))
        detail = "; ".join(f"{f['field']}: {f['message']}" for f in fields)
        return Problem(422, "invalid", detail, fields)
    headers = {}
    if isinstance(error, drf.MethodNotAllowed):
        return Problem(405, "method_not_allowed", str(error.detail))
    if isinstance(error, drf.NotAuthenticated | drf.AuthenticationFailed):
        headers["WWW-Authenticate"] = 'Bearer realm="turno"'
        return Problem(401, "unauthenticated", str(error.detail), headers=headers)
    code = error.get_codes()
    return Problem(error.status_code, code if isinstance(code, str) else "error", str(error.detail), headers=headers)


def _flatten(details: Any, path: str = "") -> Any:
    """DRF's nested details -> rows of field, code, message."""
    if isinstance(details, dict) and set(details) == {"message", "code"}:
        yield {"field": path or "body", "code": str(details["code"]), "message": str(details["message"])}
    elif isinstance(details, dict):
        for key, value in details.items():
            yield from _flatten(value, path if key == "non_field_errors" else f"{path}.{key}".strip("."))
    else:
        for value in details:
            yield from _flatten(value, path)


def response(request: HttpRequest, problem: Problem) -> JsonResponse:
    """The problem as an answer. The same for a missing and a hidden object: nothing but the path varies."""
    body: dict[str, Any] = {
        "type": f"urn:turno:problem:{problem.code}",
        "title": str(TITLES.get(problem.status, TITLES[500])),
        "status": problem.status,
        "detail": problem.detail or str(TITLES.get(problem.status, TITLES[500])),
        "code": problem.code,
        "instance": request.path,
    }
    if problem.status == 422:
        body["errors"] = problem.fields
    return JsonResponse(body, status=problem.status, content_type=MEDIA_TYPE, headers=problem.headers)


def drf_handler(error: Exception, context: dict[str, Any]) -> HttpResponseBase | None:
    """DRF's exception handler: everything known becomes a problem; the rest is raised and becomes the 500 problem."""
    problem = problem_of(error)
    if problem is None:
        return None
    set_rollback()
    request = context["request"]
    answer = response(request._request, problem)
    if problem.status == 405:
        answer["Allow"] = ", ".join(context["view"].allowed_methods)
    return answer


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def database_trouble(error: BaseException) -> bool:
    """Whether an error of a page means that the database does not answer."""
    return isinstance(error, DatabaseError | InterfaceError)
