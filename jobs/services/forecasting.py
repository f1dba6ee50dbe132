"""Forecasts of likely starts: what the cluster's work is like, for the room that plays the queues on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from jobs.models import Run, Workload
from jobs.selectors.answering import asked_of
from jobs.specs import from_json
from jobs.states import LIVE_STATES
from portal.cluster.models import Cluster
from portal.kernel import clock
from quotas import selectors as quotas
from quotas.planning import Came, Survey, Template
from quotas.services.forecasting import forecast

LOOKED_BACK = timedelta(days=7)
MOST_CAME = 500


def forecast_all() -> int:
    """One round on every cluster where it is due; how many forecasts were made. For a periodic task."""
    return sum(forecast(pk, _survey) for pk in Cluster.objects.values_list("pk", flat=True))


def _survey(cluster_id: UUID) -> Survey:
    rows = Workload.objects.filter(cluster_id=cluster_id, state__in=LIVE_STATES)
    fields = ("pk", "run_number", "tenant__slug", "kind", "variant", "flavor__name", "spec")
    live = {pk: (_template(*told), run) for pk, run, *told in rows.values_list(*fields)}
    return Survey(live, _came(cluster_id))


def _template(tenant: str, kind: str, variant: str, flavor: str, spec: Mapping[str, Any]) -> Template:
    return Template(tenant, kind, variant, flavor, str(spec.get("image") or ""), spec.get("max_duration"))


def _came(cluster_id: UUID) -> list[Came]:
    """The newest few hundred runs of the last days."""
    rows = Run.objects.filter(workload__cluster_id=cluster_id, created_at__gt=clock.now() - LOOKED_BACK)
    newest = rows.select_related("workload__tenant", "workload__flavor__cluster").order_by("-created_at")[:MOST_CAME]
    values = {row.name: row.value for row in quotas.priorities(cluster_id)}
    found = []
    for run in reversed(newest):
        of, spec = run.workload, from_json(run.workload.kind, run.spec)
        asked = asked_of(spec, of.tenant, of.flavor, values.get(of.priority, 0))
        template = _template(of.tenant.slug, of.kind, of.variant, of.flavor.name, run.spec)
        found.append(Came(run.created_at, template, asked))
    return found
