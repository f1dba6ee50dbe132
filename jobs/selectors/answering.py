"""The answers people ask for most, from the admission model: what would happen, why it waits, who is ahead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.utils.translation import gettext

from jobs.selectors import likely
from jobs.selectors.otherwise import candidates
from jobs.specs import Spec
from portal.admission.quantities import parse
from portal.cluster import names
from portal.kernel import clock
from portal.kernel.actors import Actor
from quotas import planning
from quotas import selectors as quotas
from quotas.planning import Asked, Member, Misfit, Standing
from tenants import selectors as tenants

if TYPE_CHECKING:
    from portal.cluster.models import Cluster
    from quotas.models import Flavor
    from tenants.models import Tenant

MOST_SHOWN = 50
NO_FORECAST: Mapping[str, Any] = {"likely_start": None, "forecast": None}


@dataclass(frozen=True)
class Teams:
    """How other teams are called for one reader: their slug, or "another team"."""

    prefix: str
    known: frozenset[str]
    show_all: bool

    @classmethod
    def of(cls, actor: Actor, cluster: Cluster, tenant: Tenant) -> Teams:
        known = frozenset(team.slug for team, _role in tenants.memberships(actor))
        return cls(cluster.prefix, known, quotas.shows_teams(cluster.pk, tenant.cohort))

    def name(self, queue: str) -> str:
        slug = queue.removeprefix(self.prefix)
        return slug if slug in self.known or (self.show_all and slug != queue) else gettext("another team")


def asked_of(spec: Spec, tenant: Tenant, flavor: Flavor, priority: int) -> Asked:
    """A validated request in the model's words."""
    requests = {"cpu": parse("cpu", spec.cpu), "memory": parse("memory", spec.memory)}
    if flavor.resource and spec.gpus:
        requests[flavor.resource] = spec.gpus
    return Asked(
        queue=names.prefixed(flavor.cluster.prefix, tenant.slug),
        flavor=quotas.kueue_name(flavor),
        resource=flavor.resource or "cpu",
        pods=max(spec.pods, 1),
        min_pods=getattr(spec, "min_nodes", None),
        requests=requests,
        priority=priority,
    )


def preview(
    actor: Actor, tenant: Tenant, flavor: Flavor, spec: Spec, *, manager: bool, state: Standing | None = None
) -> dict[str, Any] | None:
    """The `preview` of a dry run (api.md, section 4); None while the mirror knows nothing, or not yet of this quota.

    `state`: loaded already, by somebody who knows the likely start already too.
    """
    foresees = state is None
    state = state or planning.standing(flavor.cluster_id)
    if state.as_of is None:
        return None
    values = {row.name: row for row in quotas.priorities(flavor.cluster_id)}
    asked = asked_of(spec, tenant, flavor, values[spec.priority].value if spec.priority in values else 0)
    if state.cell(asked.queue, asked.flavor, asked.resource) is None:
        return None  # the quota is set, and has not reached the cluster yet
    found = planning.preview(state, asked)
    teams = Teams.of(actor, flavor.cluster, tenant)
    room = planning.room(flavor.cluster_id)
    misfit = None
    if found.verdict in ("starts_now", "borrows", "preempts"):
        gone = [one.workload_id for one in found.preempts if one.workload_id]
        misfit = room.without(gone).misfit(state, asked, found.pods)
    plain = found.verdict == "starts_now" and misfit is None
    changes = [] if plain else candidates(asked, spec, tenant, flavor, manager=manager)
    offered = planning.alternatives(state, changes, fits=lambda one: room.misfit(state, one) is None)
    if found.verdict == "borrows" and misfit is None:
        offered = [one for one in offered if one.verdict == "starts_now"]
    return {
        "verdict": found.verdict,
        "position": found.position,
        "ahead": ahead_of(found.ahead, teams),
        "flavor": flavor.name,
        "available": found.available if flavor.resource else None,
        "borrows": [{"team": teams.name(queue), "gpus": units} for queue, units in found.borrows.items()],
        "preempts": [
            {"team": teams.name(one.queue), "gpus": one.gpus, "priority": one.priority} for one in found.preempts
        ],
        "limit": _limit(flavor, asked, found.maximum) if found.maximum is not None else None,
        "note": misfit and _note(misfit, found, flavor),
        "alternatives": [{"change": dict(one.change), "verdict": one.verdict} for one in offered],
        **(_likely(state, asked) if foresees and found.verdict == "waits" else NO_FORECAST),
        "as_of": state.as_of,
    }


def _note(misfit: Misfit, found: planning.Preview, flavor: Flavor) -> dict[str, Any]:
    """Quota would do, but there is no node for it now, or would be none after the evictions."""
    values = {"needed": misfit.needed, "most": misfit.most_free, "flavor": flavor.name}
    if misfit.most_free >= misfit.needed:
        told = gettext(
            "Quota is free, but there is room for %(n)s of its %(pods)s nodes with %(needed)s of %(flavor)s each."
        )
        values |= {"n": found.pods - misfit.pods, "pods": found.pods}
    elif found.preempts:
        told = gettext(
            "Even once those have gone, no node would have %(needed)s of %(flavor)s free at once: the most is %(most)s."
        )
    else:
        told = gettext("Quota is free, but no node has %(needed)s of %(flavor)s free at once: the most is %(most)s.")
    return {
        "code": "no_node_fits",
        "message": told % values,
        "needed": misfit.needed,
        "most_free": misfit.most_free,
    }


def _likely(state: Standing, asked: Asked) -> dict[str, Any]:
    return likely.of_request(planning.foresee_request(state, asked), clock.now(), asked.queue)


def _limit(flavor: Flavor, asked: Asked, maximum: int) -> dict[str, Any]:
    per_unit = 1000 if asked.resource == "cpu" else 1  # processors are counted in thousandths
    maximum //= per_unit
    told = {"needed": f"{asked.units / per_unit:g}", "maximum": maximum, "flavor": flavor.name}
    message = gettext("It asks for %(needed)s of %(flavor)s; the team can have at most %(maximum)s.") % told
    return {"flavor": flavor.name, "resource": asked.resource, "gpus": maximum, "message": message}


def ahead_of(found: Iterable[Member], teams: Teams) -> list[dict[str, Any]]:
    """Who is tried before it in the cohort: size, priority, age; never names or people."""
    now = clock.now()
    return [
        {
            "team": teams.name(one.queue),
            "gpus": one.gpus,
            "priority": one.priority,
            "waiting_s": max(0, int((now - one.created).total_seconds())),
        }
        for one in islice(found, MOST_SHOWN)
    ]


def holders_of(found: planning.Wait, teams: Teams, resource: str) -> list[dict[str, Any]]:
    """Who holds what it needs."""
    return [
        {"team": teams.name(one.queue), "gpus": one.units.get(resource, 0), "since": one.held_since}
        for one in found.holders[:MOST_SHOWN]
    ]


def wait(cluster_id: UUID, uids: frozenset[str], flavor: Flavor) -> tuple[Standing, planning.Wait | None]:
    """Where a waiting workload stands in the model."""
    state = planning.standing(cluster_id)
    return state, planning.wait_of(state, uids, quotas.kueue_name(flavor), flavor.resource or "cpu")
