"""What a person does to a workload: each a POST that leads back to a page, and is safe to send twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from jobs import selectors, services
from portal.kernel.errors import Conflict, Denied, Invalid
from tenants.web.visitor import person


def _done(request: HttpRequest, command: Callable[[], Any], said: str | Promise, to: str) -> HttpResponse:
    """Carries it out and says so; a refusal is said in its own words, and nothing is shown as done."""
    try:
        command()
    except (Conflict, Denied, Invalid) as refusal:
        messages.error(request, str(refusal.message))
    else:
        messages.success(request, str(said))
    return redirect(to)


@require_POST
def start(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """A new run."""
    actor = person(request)
    return _done(
        request,
        lambda: services.start(actor, workload_id=workload_id),
        gettext_lazy("It starts again; its turn is taken now."),
        f"/workloads/{workload_id}/",
    )


@require_POST
def priority(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Another priority, while it waits or runs."""
    actor = person(request)
    wanted = request.POST.get("priority", "")
    return _done(
        request,
        lambda: services.change(actor, workload_id=workload_id, data={"priority": wanted}),
        _("It has priority %(priority)s now; its place follows within seconds.") % {"priority": wanted},
        f"/workloads/{workload_id}/",
    )


@require_POST
def stop(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Ends the run; what is on its disk stays."""
    actor = person(request)
    return _done(
        request,
        lambda: services.stop(actor, workload_id=workload_id),
        gettext_lazy("It stops; its GPUs are free once its pods are gone."),
        f"/workloads/{workload_id}/",
    )


@require_POST
def delete(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """Removes it from the cluster and the lists."""
    actor = person(request)
    delete_data = request.POST.get("delete_data") == "yes"
    return _done(
        request,
        lambda: services.delete(actor, workload_id=workload_id, delete_data=delete_data),
        gettext_lazy("It is being removed from the cluster."),
        "/workloads/",
    )


@never_cache
@require_http_methods(["GET", "POST"])
def key(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The endpoint's key, for its owner and the team's managers; a POST makes a new one."""
    actor = person(request)
    row = selectors.of_kind(actor, workload_id, "endpoint")
    if request.method == "POST":
        services.rotate_key(actor, workload_id=workload_id)
        messages.success(request, _("A new key is made. It is valid from the next start."))
        return redirect(f"/workloads/{workload_id}/key/")
    shown = selectors.represent(row, detail=False, language=get_language())
    return render(request, "jobs/key.html", {"workload": shown, "key": selectors.key(actor, workload_id)["key"]})
