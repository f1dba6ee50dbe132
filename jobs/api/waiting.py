"""`wait=` and `for=` on one workload: an async view that sleeps on the feed, then lets DRF answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _

from jobs import selectors
from jobs.states import FINAL_STATES, State
from portal.kernel import clock, feed
from portal.kernel.errors import BadRequest, TooMany
from portal.rest.access import actor_of, require_scope
from portal.rest.asking import ask
from portal.rest.notifier import notifier

LONGEST = 60
MOST_PER_TOKEN = 20
GOALS = ("running", "finished")
_open: Counter[str] = Counter()


def reached(state: State, goal: str) -> bool:
    """Whether the goal is met, or cannot be met any more without a new start."""
    return state in FINAL_STATES or (goal == "running" and state is State.RUNNING)


def parameters(request: HttpRequest) -> tuple[int, str]:
    """`wait` (0 to 60 seconds) and `for` (running, finished); BadRequest otherwise."""
    wait, goal = request.GET.get("wait", "0"), request.GET.get("for", "finished")
    if not (wait.isascii() and wait.isdigit() and int(wait[:4]) <= LONGEST and len(wait) < 4):
        raise BadRequest(_("wait must be a whole number from 0 to 60."), code="wait")
    if goal not in GOALS:
        raise BadRequest(_("for must be running or finished."), code="for")
    return int(wait), goal


async def until(request: HttpRequest, workload_id: UUID) -> bool:
    """Sleeps until the goal is reached; True when the time ran out first."""
    actor = actor_of(request)
    require_scope(actor, "read")
    wait, goal = parameters(request)
    holder = str(getattr(actor, "token_id", None) or actor.id)
    if _open[holder] >= MOST_PER_TOKEN:
        raise TooMany(_("At most 20 long polls may be open at a time."), retry_after=1)
    _open[holder] += 1
    try:
        ends = clock.monotonic() + wait
        while True:
            row = await ask(selectors.workload, actor, workload_id)
            left = ends - clock.monotonic()
            if reached(State(row.state), goal):
                return False
            if left <= 0:
                return True
            await notifier().wait(feed.tenant_scope(row.tenant_id), left)
    finally:
        _open[holder] -= 1
        if not _open[holder]:
            del _open[holder]


def long_poll(view: Any) -> Callable[..., Any]:
    """Wraps a DRF view of one workload; the schema still sees the DRF view."""

    async def handler(request: HttpRequest, id: UUID, **kwargs: Any) -> HttpResponseBase:  # noqa: A002  the path's word
        timed_out = False
        if request.method == "GET" and ("wait" in request.GET or "for" in request.GET):
            timed_out = await until(request, id)
        response: HttpResponseBase = await sync_to_async(view)(request, id=id, **kwargs)
        if timed_out:
            response["Turno-Wait"] = "timeout"
        return response

    handler.cls, handler.initkwargs = view.cls, view.initkwargs  # type: ignore[attr-defined]
    handler.csrf_exempt = True  # type: ignore[attr-defined]
    return handler
