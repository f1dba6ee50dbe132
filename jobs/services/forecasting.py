"""Forecasts of likely starts: what each live workload is like, for the room that plays the queues on."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from jobs.models import Workload
from jobs.states import LIVE_STATES
from portal.cluster.models import Cluster
from quotas.planning import Template
from quotas.services.forecasting import forecast


def forecast_all() -> int:
    """One round on every cluster where it is due; how many forecasts were made. For a periodic task."""
    return sum(forecast(pk, _templates) for pk in Cluster.objects.values_list("pk", flat=True))


def _templates(cluster_id: UUID) -> Mapping[UUID, tuple[Template, int]]:
    """What tells which runs are alike, and the number of the newest run."""
    rows = Workload.objects.filter(cluster_id=cluster_id, state__in=LIVE_STATES)
    fields = ("pk", "tenant__slug", "kind", "variant", "flavor__name", "run_number", "spec")
    return {
        pk: (Template(tenant, kind, variant, flavor, str(spec.get("image") or ""), spec.get("max_duration")), run)
        for pk, tenant, kind, variant, flavor, run, spec in rows.values_list(*fields)
    }
