"""`GET …/logs/`: text, once or followed. An async view: a follower holds no thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _

from jobs import selectors
from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.errors import BadRequest, PortalError
from portal.rest.access import actor_of, require_scope
from portal.rest.asking import ask

USUAL_TAIL = 100
LONGEST_TAIL = 10_000
FIRST_CHUNK = 5.0
EVERY = 0.3
RECHECK = 5.0
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Wanted:
    """The query of a log request. `tail` None: every line since the named moment."""

    run: int | None
    container: str
    tail: int | None
    since: str
    previous: bool
    follow: bool


def _flag(request: HttpRequest, name: str) -> bool:
    given = request.GET.get(name, "false")
    if given not in ("true", "false"):
        raise BadRequest(_("%(name)s must be true or false.") % {"name": name}, code=name)
    return given == "true"


def _number(request: HttpRequest, name: str, default: int | None, most: int) -> int | None:
    given = request.GET.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 9 and int(given) <= most):
        raise BadRequest(_("%(name)s must be a whole number up to %(most)s.") % {"name": name, "most": most}, code=name)
    return int(given)


def wanted(request: HttpRequest) -> Wanted:
    """Reads the query; BadRequest with the parameter that is wrong."""
    return Wanted(
        run=_number(request, "run", None, 10_000_000),
        container=request.GET.get("container", ""),
        tail=_number(request, "tail", None if request.GET.get("since") else USUAL_TAIL, LONGEST_TAIL),
        since=request.GET.get("since", ""),
        previous=_flag(request, "previous"),
        follow=_flag(request, "follow"),
    )


async def read(request: HttpRequest, workload_id: UUID) -> HttpResponseBase:
    """The log as text; `Turno-Log-Truncated: true` when something before or inside it is missing."""
    actor = actor_of(request)
    require_scope(actor, "read")
    await ask(selectors.log_access, actor, workload_id)
    query = wanted(request)
    if query.follow:
        first = await _first(actor, workload_id, query, patient=False)
        return StreamingHttpResponse(
            _follow(actor, workload_id, query, first), content_type=TEXT, headers={"X-Accel-Buffering": "no"}
        )
    text = await _first(actor, workload_id, query, patient=True)
    truncated = "true" if text.truncated else "false"
    return HttpResponse(text.text, content_type=TEXT, headers={"Turno-Log-Truncated": truncated})


async def _first(actor: Actor, workload_id: UUID, query: Wanted, *, patient: bool) -> selectors.LogText:
    """What is there; where a pod may be about to speak, waits up to 5 s for its first chunk, and where a run has just
    ended, for its last."""
    ends = clock.monotonic() + (FIRST_CHUNK if patient else 0.0)
    while True:
        text = await ask(
            selectors.log_text,
            actor,
            workload_id,
            run=query.run,
            container=query.container,
            tail=query.tail,
            since=query.since,
            previous=query.previous,
        )
        if (text.text and not text.ending) or not text.expected or clock.monotonic() >= ends:
            return text
        await asyncio.sleep(EVERY)


async def _follow(actor: Actor, workload_id: UUID, query: Wanted, first: selectors.LogText) -> AsyncIterator[bytes]:
    """The first text, then what comes, until the run is over; the right is checked again every 5 s."""
    if first.text:
        yield first.text.encode()
    cursor, checked = first.cursor, clock.monotonic()
    while True:
        more = await ask(selectors.log_after, workload_id, run=query.run, container=query.container, cursor=cursor)
        cursor = more.cursor
        if more.text:
            yield more.text.encode()
        elif not more.expected:
            return
        if clock.monotonic() - checked >= RECHECK:
            checked = clock.monotonic()
            try:
                await ask(selectors.log_access, actor, workload_id)
            except PortalError:
                return
        await asyncio.sleep(EVERY)


def text_view(view: Any) -> Callable[..., Any]:
    """GET is answered here, everything else by the DRF view that documents it."""

    async def handler(request: HttpRequest, id: UUID, kind: str) -> HttpResponseBase:  # noqa: A002  the path's word
        if request.method not in ("GET", "HEAD"):
            response: HttpResponseBase = await sync_to_async(view)(request, id=id, kind=kind)
            return response
        await ask(selectors.of_kind, actor_of(request), id, kind)
        return await read(request, id)

    handler.cls, handler.initkwargs = view.cls, view.initkwargs  # type: ignore[attr-defined]
    handler.csrf_exempt = True  # type: ignore[attr-defined]
    return handler
