"""PATCH: what may change while it lives, and everything else when it is stopped or final."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from jobs import selectors, transitions
from jobs.errors import StopFirst
from jobs.models import Run, Workload
from jobs.services.history import record
from jobs.services.idling import stops_at
from jobs.services.judging import belonging, chosen_flavor, columns
from jobs.services.rights import changeable
from jobs.specs import CHANGEABLE_LIVE, Spec, parse_change, to_json
from jobs.states import FINAL_STATES, State, gettext_noop
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict
from portal.kernel.transaction import transaction

CHANGED = gettext_noop("Changed: %(fields)s.")


def change(actor: Actor, *, workload_id: UUID, data: Mapping[str, Any]) -> Workload:
    """Merges `data` over the request. Raises Invalid, and StopFirst where a field waits for the workload's end."""
    with transaction():
        row = changeable(actor, workload_id)
        if row.state == State.DELETING:
            raise Conflict(_("It is being deleted."), code="deleting")
        current = row.request
        live = State(row.state) not in FINAL_STATES
        context = selectors.spec_context(belonging(actor, row), {"flavor": current.flavor, **data})
        after, changed = parse_change(row.kind, current, data, context, live=live)
        if live and not changed <= CHANGEABLE_LIVE[row.kind]:
            names = ", ".join(sorted(changed - CHANGEABLE_LIVE[row.kind]))
            raise StopFirst(_("Stop it first: %(fields)s cannot change while it runs.") % {"fields": names})
        if not changed:
            return row
        transitions.amend(row, changes=_values(row, after, changed, live=live))
        if "flavor" in changed:
            row.refresh_from_db(fields=["flavor", "cluster"])
        _tell(actor, row, current, after, changed)
        work.wake("workload", row.pk)
    return row


def _values(row: Workload, after: Spec, changed: frozenset[str], *, live: bool) -> dict[str, object]:
    values: dict[str, object] = dict(columns(after))
    values["variant"] = after.variant
    values["spec_revision"] = row.spec_revision + 1
    if "flavor" in changed:
        flavor = chosen_flavor(after)
        values |= {"flavor_id": flavor.pk, "cluster_id": flavor.cluster_id}
    if "max_duration" in changed and row.kind != "training" and live:
        run = Run.objects.filter(workload=row, ended_at=None).first()
        since = run.admitted_at if run else None
        values["deadline_at"] = since + timedelta(seconds=after.max_duration) if since and after.max_duration else None
    if "idle_timeout" in changed:
        limit = getattr(after, "idle_timeout", None)
        values["idle_stop_at"] = stops_at(row.last_used_at, limit) if live else None
    if "min_replicas" in changed:
        values["replicas_desired"] = after.pods
    return values


def _tell(actor: Actor, row: Workload, before: Spec, after: Spec, changed: frozenset[str]) -> None:
    old, new = to_json(before), to_json(after)
    shown = changed - {"env"}
    record(
        actor,
        row,
        "change",
        before={name: old[name] for name in shown},
        after={name: new[name] for name in shown} | ({"env": sorted(after.env)} if "env" in changed else {}),
    )
    transitions.tell(row, entry="change", message=CHANGED, params={"fields": ", ".join(sorted(changed))}, by=actor)
