"""What every request gets first: an id, which the logs, the audit rows and the answer share."""

from __future__ import annotations

import re
import uuid
from collections.abc import Awaitable, Callable

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from portal.kernel import clock
from portal.telemetry import metrics

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SANE_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestContextMiddleware:
    """Takes `X-Request-ID` when it looks like one, else makes one; async only, as the whole stack."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        given = request.headers.get("X-Request-ID", "")
        request_id = given if SANE_ID.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        request.request_id = request_id  # type: ignore[attr-defined]
        started = clock.monotonic()
        if self.is_async:
            return self._later(request, request_id, started)
        response = self.get_response(request)
        assert not isinstance(response, Awaitable)  # noqa: S101  the sync chain answers at once
        return self._done(request, response, request_id, started)

    async def _later(self, request: HttpRequest, request_id: str, started: float) -> HttpResponseBase:
        answer = self.get_response(request)
        assert isinstance(answer, Awaitable)  # noqa: S101  the async chain hands a coroutine on
        return self._done(request, await answer, request_id, started)

    @staticmethod
    def _done(request: HttpRequest, response: HttpResponseBase, request_id: str, started: float) -> HttpResponseBase:
        method = request.method if request.method in METHODS else "other"
        metrics.REQUESTS.labels(method, f"{response.status_code // 100}xx").inc()
        metrics.SECONDS.labels(method).observe(clock.monotonic() - started)
        response["X-Request-ID"] = request_id
        return response
