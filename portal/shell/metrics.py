"""`/metrics`: for Prometheus only. With `TURNO_METRICS_TOKEN` by bearer token, without it from loopback only."""

from __future__ import annotations

import hmac
from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from jobs import selectors as jobs
from portal.kernel import work
from portal.kernel.errors import NotFound
from portal.telemetry import metrics
from quotas import planning

LOOPBACK = ("127.0.0.1", "::1")


def _work() -> Iterator[tuple[tuple[str, ...], float]]:
    for kind, due, parked in work.backlog():
        yield (kind, "due"), due
        yield (kind, "parked"), parked


metrics.gauge("turno_work", "Objects that somebody should look at, and those parked.", ["kind", "state"], _work)
metrics.gauge("turno_workloads", "Workloads by kind and state.", ["kind", "state"], jobs.counts_by_state)

metrics.gauge(
    "turno_forecasts",
    "How forecasts of likely starts did: judged starts of 30 days, the shares within p10 to p90, by p50 and by p90.",
    ["cluster", "figure"],
    planning.figures,
)

DISAGREEMENTS = "Where Kueue and the model of admission differ for more than 30 s, by kind: room or order"
metrics.gauge("turno_admission_disagreements", f"{DISAGREEMENTS}; now.", ["cluster", "kind"], planning.lasting)
# The gauge has the plain name, so that the counter needs one of its own.
metrics.total("turno_admission_disagreed", f"{DISAGREEMENTS}; so far.", ["cluster", "kind"], planning.totals)


def view(request: HttpRequest) -> HttpResponse:
    """404 for everybody else, as for a missing page."""
    token = settings.METRICS_TOKEN
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    allowed = hmac.compare_digest(given.encode(), token.encode()) if token else _is_loopback(request)
    if not allowed:
        raise NotFound
    body, media_type = metrics.render()
    return HttpResponse(body, content_type=media_type)


def _is_loopback(request: HttpRequest) -> bool:
    return request.META.get("REMOTE_ADDR") in LOOPBACK and "HTTP_X_FORWARDED_FOR" not in request.META
