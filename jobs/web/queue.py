"""The queue: who waits in my cohorts, in which order, and a manager's way to change the order of their own team."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from jobs import selectors, services
from portal.kernel.actors import Person
from portal.kernel.errors import Conflict, Denied, Invalid, NotFound
from tenants import selectors as tenants
from tenants.web.visitor import person


@never_cache
@require_safe
def queue(request: HttpRequest) -> HttpResponse:
    """The page."""
    return render(request, "jobs/queue.html", _context(request, person(request)))


@never_cache
@require_safe
def lines(request: HttpRequest) -> HttpResponse:
    """Its moving part; 204 while nothing changed."""
    actor = person(request)
    if request.GET.get("version") == selectors.lines_version(actor):
        return HttpResponse(status=204)
    return render(request, "jobs/_lines.html", _context(request, actor))


@never_cache
@require_POST
def reorder(request: HttpRequest) -> HttpResponse:
    """Another priority for one of the team's waiting jobs. The fragment for htmx, the page for everybody else."""
    actor = person(request)
    said, failed = _change_priority(actor, request.POST.get("workload", ""), request.POST.get("priority", ""))
    if request.headers.get("HX-Request") == "true":
        return render(request, "jobs/_lines.html", {**_context(request, actor), "said": said, "failed": failed})
    (messages.error if failed else messages.success)(request, said)
    return redirect("/queue/")


def _change_priority(actor: Person, workload_id: str, priority: str) -> tuple[str, bool]:
    """What to say, and whether it was refused. NotFound for what is no workload of the person's teams."""
    try:
        row = selectors.workload(actor, UUID(workload_id))
    except ValueError as error:
        raise NotFound from error
    try:
        services.change(actor, workload_id=row.pk, data={"priority": priority})
    except (Conflict, Denied) as refusal:
        return str(refusal.message), True
    except Invalid as refusal:
        return " ".join(str(error.message) for error in refusal.errors), True
    told = {"name": row.name, "priority": priority}
    return _("%(name)s has priority %(priority)s now; its place follows within seconds.") % told, False


def _context(request: HttpRequest, actor: Person) -> dict[str, Any]:
    """With `?whole=1`, everybody who waits."""
    whole = (request.POST or request.GET).get("whole") == "1"
    return {
        "lines": selectors.lines(actor, whole=whole),
        "whole": whole,
        "version": selectors.lines_version(actor),
        "in_teams": bool(tenants.tenant_ids(actor)),
    }
