"""The lines of the queue -> answers."""

from __future__ import annotations

from typing import Any

from jobs import selectors
from portal.kernel import clock
from portal.rest.answers import stamp


def line(found: selectors.Line) -> dict[str, Any]:
    """One cohort's line of the queue."""
    return {
        "cluster": found.cluster,
        "cohort": found.cohort,
        "length": found.length,
        "waiting": [_place(one) for one in found.places],
        "as_of": stamp(found.as_of),
    }


def _place(one: selectors.Place) -> dict[str, Any]:
    row = one.workload
    return {
        "place": one.place,
        "queue_place": one.queue_place,
        "team": one.team,
        "gpus": one.gpus,
        "flavor": one.flavor or None,
        "priority": one.priority,
        "waiting_s": max(0, int((clock.now() - one.since).total_seconds())),
        "likely_start": _likely(one),
        "workload": row and {"id": str(row.pk), "kind": row.kind, "name": row.name, "owner": row.owner_label},
    }


def _likely(one: selectors.Place) -> dict[str, str | None] | None:
    found = one.likely
    return None if found is None or found.p50 is None else {"p50": stamp(found.p50), "p90": stamp(found.p90)}
