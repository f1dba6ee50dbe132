"""The list of everything the person's teams asked for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from jobs import selectors
from jobs.states import State
from jobs.web.forms import FORMS
from portal.kernel import clock, feed
from portal.kernel.actors import Person
from tenants.web.visitor import person, teams

PAGE = 50
FILTERS = ("q", "kind", "state", "tenant", "owner")


@require_safe
def workloads(request: HttpRequest) -> HttpResponse:
    """The whole page."""
    actor = person(request)
    shown = [state.value for state in State if state is not State.DELETED]
    choices = {"tenants": [tenant for tenant, _role in teams(request)], "kinds": list(FORMS), "states": shown}
    return render(request, "jobs/workloads.html", {**_context(request, actor), **choices})


@require_safe
def table(request: HttpRequest) -> HttpResponse:
    """The same table for the page's poll; 204 while nothing changed."""
    actor = person(request)
    if request.GET.get("version") == _version(request):
        return HttpResponse(status=204)
    return render(request, "jobs/_table.html", _context(request, actor))


def _version(request: HttpRequest) -> str:
    """Changes with every entry of the teams' feeds, and every ten seconds."""
    seqs = feed.last_seqs([feed.tenant_scope(tenant.pk) for tenant, _role in teams(request)])
    return f"{sum(seqs.values())}.{int(clock.now().timestamp()) // 10}"


def _filters(query: QueryDict) -> dict[str, str]:
    """The filters that say something; a value that no filter knows filters nothing away."""
    found = {name: query.get(name, "").strip() for name in FILTERS}
    if found["kind"] not in FORMS:
        found["kind"] = ""
    if found["state"] not in set(State):
        found["state"] = ""
    return {name: value for name, value in found.items() if value}


def _context(request: HttpRequest, actor: Person) -> dict[str, Any]:
    filters = _filters(request.GET)
    after = _id(request.GET.get("after", ""))
    rows = selectors.workloads(actor, teams=[tenant for tenant, _role in teams(request)], **filters)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    found = list(rows[: PAGE + 1])
    shown, more = found[:PAGE], len(found) > PAGE
    query = urlencode(filters)
    here = urlencode({**filters, **({"after": str(after)} if after else {}), "version": _version(request)})
    return {
        "workloads": [selectors.represent(row, detail=False, language=get_language()) for row in shown],
        "filters": filters,
        "filtered": bool(filters),
        "newest_url": f"/workloads/?{query}" if after else "",
        "older_url": f"/workloads/?{urlencode({**filters, 'after': str(shown[-1].pk)})}" if more else "",
        "poll_url": f"/workloads/table/?{here}",
    }


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
