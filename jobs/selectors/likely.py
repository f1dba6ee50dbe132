"""Likely starts in words: when, in how many cases, and why nobody can know yet."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from jobs.models import Workload
from portal.cluster import names
from portal.kernel import clock
from quotas import planning
from quotas.planning import Estimate, Likely, Wait

UNSAID: Mapping[str, Any] = {
    "lengths_unknown": gettext_lazy(
        "Nobody can know yet when it starts: work before it has no time limit, and too few like it have ended yet."
    ),
    "too_far": gettext_lazy("In most cases it does not start within two weeks."),
    "far_behind": gettext_lazy(
        "So many wait before it that its start is not worked out yet; it will be as soon as it has come nearer."
    ),
    "uncertain": gettext_lazy("It cannot be said when it starts: in some cases not within two weeks."),
    "not_yet": gettext_lazy("When it likely starts is being worked out."),
    "now": gettext_lazy("By our reading there is room: it should start any moment."),
}
BASES: Mapping[str, Any] = {
    "history": gettext_lazy("Likely %(p50)s, by %(p90)s in 9 of 10 cases."),
    "declared": gettext_lazy(
        "Likely %(p50)s, by %(p90)s in 9 of 10 cases, going by the time limits of what runs: "
        "too few like it have ended yet."
    ),
}


def of_waiting(row: Workload, found: Wait | None) -> dict[str, Any]:
    """`likely_start` and `forecast` of a queued workload, from its newest kept forecast. Two queries."""
    kept = planning.latest([row.pk]).get(row.pk)
    queue = names.prefixed(row.cluster.prefix, row.tenant.slug)
    if kept is None:
        return _answer(None, "now" if found and found.disagrees else "not_yet", planning.track(queue))
    return _answer(kept, kept.why, planning.track(queue))


def of_request(estimate: Estimate | None, now: datetime, queue: str) -> dict[str, Any]:
    """`likely_start` and `forecast` of a request that would wait."""
    if estimate is None:
        return _answer(None, "not_yet", planning.track(queue))
    p10, p50, p90 = (None if at is None else datetime.fromtimestamp(round(at), UTC) for at in _tenths(estimate))
    return _answer(Likely(p10, p50, p90, estimate.basis, estimate.why, now, now), estimate.why, planning.track(queue))


def _tenths(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    return estimate.p10, estimate.p50, estimate.p90


def _answer(found: Likely | None, code: str, track: planning.Track) -> dict[str, Any]:
    """Times are datetimes. What did not start when it was expected to starts from now on."""
    now = clock.now()
    start = None
    if found is not None and found.p50 is not None and found.p90 is not None:
        start = {"p50": max(found.p50, now), "p90": max(found.p90, now)}
    message = gettext(UNSAID.get(code) or UNSAID["not_yet"])
    if start is not None and found is not None:
        message = gettext(BASES[found.basis]) % {name: _stamp(at) for name, at in start.items()}
    return {
        "likely_start": start,
        "forecast": {
            "message": message,
            "code": "" if start else code,
            "basis": found.basis if found else "none",
            "p10": max(found.p10, now) if found and found.p10 else None,
            "made_at": found.made_at if found else None,
            "as_of": found.as_of if found else None,
            "past": {"kept": track.kept, "within": track.within},
        },
    }


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
