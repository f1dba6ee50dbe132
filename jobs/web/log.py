"""The log panel of a workload's page: the end of a run's log, renewed while it may grow."""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs import selectors
from jobs.web.forms import FORMS
from portal.kernel.actors import Person
from tenants.web.visitor import person

LINES = 400


@never_cache
@require_safe
def log(request: HttpRequest, workload_id: UUID) -> HttpResponse:
    """The panel for the page's poll; 204 while nothing was written."""
    actor = person(request)
    row = selectors.workload(actor, workload_id)
    context = log_context(actor, row, request.GET)
    if request.GET.get("version") == context["version"] and context["polls"]:
        return HttpResponse(status=204)
    return render(request, "jobs/_log.html", {"workload": row, "log": context})


def log_context(actor: Person, row: Any, query: QueryDict) -> dict[str, Any]:
    """What the panel shows. Raises Denied for those who may not read it (a notebook's log is its owner's)."""
    asked = query.get("run", "")
    numbers = {str(number): number for number in range(1, row.run_number + 1)}
    run = numbers.get(asked, row.run_number)  # a page shows the newest run where another there never was is asked for
    found = selectors.log_text(actor, row.pk, run=run, tail=LINES)
    grows = found.expected
    version = hashlib.sha256(f"{found.text}{grows}".encode()).hexdigest()[:16]
    return {
        "text": found.text,
        "truncated": found.truncated,
        "run": run,
        "runs": list(range(row.run_number, max(0, row.run_number - 5), -1)) if row.run_number > 1 else [],
        "polls": grows,
        "version": version,
        "query": "?" + urlencode({"run": run, "version": version}),
        "full_url": f"/api/v1/{FORMS[row.kind].path}/{row.pk}/logs/?run={run}&tail=10000",
        "empty": _("Nothing is written yet; lines appear here by themselves.") if grows else _("It wrote nothing."),
    }
