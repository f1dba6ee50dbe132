"""One workload: where it stands, what it has, what happened, its log."""

from __future__ import annotations

import shlex
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs import selectors
from jobs.states import LIVE_STATES, Reason, State
from jobs.web import sameas
from jobs.web.again import buttons
from jobs.web.log import log_context
from jobs.web.outlook import people, precision
from portal.kernel import clock
from portal.kernel.actors import Person
from tenants.web.visitor import person

EVENTS = 60
STARTABLE = {State.STOPPED, State.SUCCEEDED, State.FAILED, State.STOPPING, State.IDLE}
SETTLED = {State.STOPPED, State.SUCCEEDED, State.FAILED, State.DELETED}


@never_cache
@require_safe
def workload(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The page."""
    actor = person(request)
    row = selectors.workload(actor, workload_id)
    context = _context(actor, row)
    if context["abilities"].read_logs:
        context["log"] = log_context(actor, row, request.GET)
    return render(request, "jobs/workload.html", context)


@never_cache
@require_safe
def live(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The moving part of the page; 204 while nothing changed."""
    actor = person(request)
    row = selectors.workload(actor, workload_id)
    if request.GET.get("version") == _version(row):
        return HttpResponse(status=204)
    return render(request, "jobs/_live_answer.html", _context(actor, row))


def _version(row: Any) -> str:
    """Changes with every visible change of the row; every ten seconds too, for ages and the place in the queue."""
    return f"{row.changed_seq}.{int(clock.now().timestamp()) // 10}"


def _context(actor: Person, row: Any) -> dict[str, Any]:
    shown = selectors.represent(row, detail=True, language=get_language())
    abilities = selectors.may(actor, row)
    state = State(row.state)
    explained = selectors.explain(actor, row.pk) if state is State.QUEUED or row.reason == Reason.NO_NODE_FITS else None
    endpoint = bool(shown.get("endpoint_url"))
    return {
        "workload": shown,
        "abilities": abilities,
        "explain": explained,
        "precision": precision(explained),
        "queue_length": _queue_length(explained),
        "cohort_place": _cohort_place(explained),
        "ahead": people(explained["ahead"]) if explained and explained["ahead"] else "",
        "instead": buttons(row.kind, str(row.pk), _changes(explained)),
        "managers_way": _managers_way(explained),
        "taken": selectors.taken_from_workload(actor, row.pk) if row.preemptions else [],
        "idle_left": selectors.idle_left(row),
        "parked": selectors.parked(row.pk),
        "way_out": selectors.way_out(row, get_language()),
        "may_start": state in STARTABLE,
        "may_stop": state in LIVE_STATES and state is not State.STOPPING,
        "may_delete": state not in (State.DELETING, State.DELETED),
        "runs": selectors.represent_runs(selectors.runs(actor, row.pk)),
        "events": [_event(entry) for entry in selectors.events(actor, row.pk).order_by("-seq")[:EVENTS]],
        "objects": _objects(selectors.manifests(actor, row.pk).manifests),
        "command_line": shlex.join([*(shown.get("command") or ()), *(shown.get("args") or ())]),
        "endpoint": endpoint,
        "may_key": abilities.read_key,
        "call_example": sameas.chat(shown["endpoint_url"], shown.get("model") or "") if endpoint else "",
        "polls": state not in SETTLED,
        "version": _version(row),
    }


def _queue_length(explained: dict[str, Any] | None) -> int | None:
    position = (explained or {}).get("position")
    return position["queue_length"] if position else None


def _cohort_place(explained: dict[str, Any] | None) -> int | None:
    """Its place among all teams that share quota, where that differs from the one in its own queue."""
    position = (explained or {}).get("position")
    return position["cohort"] if position and position["cohort"] != position["queue"] else None


def _changes(explained: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [way["change"] for way in explained["ways_out"] if way["change"]] if explained else []


def _managers_way(explained: dict[str, Any] | None) -> str:
    ways = explained["ways_out"] if explained else []
    return next((str(way["action"]) for way in ways if way["who"] == "manager"), "")


def _event(entry: Any) -> dict[str, Any]:
    return {
        "at": entry.at,
        "source": entry.source,
        "message": selectors.sentence(entry.message, entry.params, get_language()) or entry.reason,
        "by": entry.by_label,
    }


def _objects(manifests: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"kind": one["kind"], "name": one["metadata"]["name"], "yaml": sameas.as_yaml([one])} for one in manifests]
