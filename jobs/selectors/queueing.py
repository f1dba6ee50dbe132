"""The queue page: everything that waits in the cohorts of the actor's teams, in the order in which it is tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING
from uuid import UUID

from jobs.models import Workload
from jobs.selectors.answering import Teams
from jobs.specs import CHANGEABLE_LIVE
from portal.cluster import names
from portal.cluster import selectors as mirror
from portal.kernel import feed
from portal.kernel.actors import Actor
from quotas import planning
from quotas import selectors as quotas
from quotas.planning import Likely, Lines, Member, Standing
from tenants import selectors as tenants
from tenants.policies import is_administrator
from tenants.roles import Permission, Role, allows

if TYPE_CHECKING:
    from portal.cluster.models import Cluster
    from quotas.models import Flavor, PriorityClass
    from tenants.models import Tenant

MOST_SHOWN, MOST_OWN = 50, 25


@dataclass(frozen=True)
class Place:
    """One who waits. Of other teams only size, priority and age are told: `workload` is None.

    `place`: 1-based in the cohort; `queue_place`: in its own team's queue. `flavor` is empty where several would do.
    `priorities`: the classes that the actor may give it instead; empty where they may not.
    """

    place: int
    queue_place: int
    team: str
    gpus: int
    flavor: str
    priority: int
    priority_name: str
    since: datetime
    likely: Likely | None = None
    workload: Workload | None = None
    priorities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """All who wait for the quotas of one cohort. `as_of` None: the mirror was never filled. `left_out`: not shown."""

    cluster: str
    cohort: str
    length: int
    places: tuple[Place, ...]
    left_out: int
    as_of: datetime | None


def lines(actor: Actor, *, whole: bool = False) -> list[Line]:
    """One line per cohort (a team without one is a line of its own), by cluster and name: its head and the next of the
    actor's teams, or the `whole` of it.

    The number of queries depends on the clusters and the teams of the actor, never on what waits.
    """
    roles = _roles(actor)
    found: dict[tuple[str, str], _Found] = {}
    for cluster, teams in _by_cluster(roles).items():
        state = planning.standing(cluster.pk)
        for team in teams:
            queue = names.prefixed(cluster.prefix, team.slug)
            root = state.roots.get(queue, queue)
            entry = found.setdefault((cluster.name, root), _Found(cluster, state, root, state.waiting_in_cohort(queue)))
            entry.teams.append(team)
    for one in found.values():
        one.shown = one.line if whole else _head(one, roles)
    rows, likely = _own_rows(found.values(), roles), planning.latest(_ids(found.values()))
    return [_line(one, roles, rows, likely) for _, one in sorted(found.items())]


def lines_version(actor: Actor) -> str:
    """Changes with every entry of the teams' feeds, with every Kueue Workload, and with the figures' age."""
    ids = tenants.tenant_ids(actor)
    seqs = feed.last_seqs([feed.tenant_scope(tenant_id) for tenant_id in ids])
    return f"{sum(seqs.values())}.{quotas.freshness()}.{mirror.versions('Workload')}"


@dataclass
class _Found:
    """One cohort of one cluster, who waits in it, and the actor's teams there."""

    cluster: Cluster
    state: Standing
    root: str
    line: Sequence[Member]
    teams: list[Tenant] = field(default_factory=list)
    shown: Sequence[Member] = ()


Roles = Mapping[UUID, tuple["Tenant", Role | None]]


def _roles(actor: Actor) -> Roles:
    """The teams whose lines are shown, with the actor's role in each: an administrator looks at all, without one."""
    own: dict[UUID, tuple[Tenant, Role | None]] = {team.pk: (team, role) for team, role in tenants.memberships(actor)}
    if is_administrator(actor):
        own = {team.pk: (team, None) for team in tenants.tenants(actor)} | own
    return own


def _by_cluster(roles: Roles) -> dict[Cluster, list[Tenant]]:
    found: dict[Cluster, list[Tenant]] = {}
    for space in tenants.spaces():
        if space.tenant_id in roles:
            found.setdefault(space.cluster, []).append(space.tenant)
    return found


def _head(one: _Found, roles: Roles) -> Sequence[Member]:
    """The first of the line, and behind them the next of the teams whose work the actor may read."""
    own = {
        names.prefixed(one.cluster.prefix, team.slug) for team, role in roles.values() if allows(role, Permission.READ)
    }
    behind = (member for member in one.line[MOST_SHOWN:] if member.queue in own)
    return [*one.line[:MOST_SHOWN], *islice(behind, MOST_OWN)]


def _ids(found: Iterable[_Found]) -> set[UUID]:
    """Our workloads in what is shown of any of the lines."""
    return {member.workload_id for one in found for member in one.shown if member.workload_id is not None}


def _own_rows(found: Iterable[_Found], roles: Roles) -> Mapping[UUID, Workload]:
    """The workloads behind what waits, of the teams that the actor belongs to; one query."""
    readable = [pk for pk, (_, role) in roles.items() if allows(role, Permission.READ)]
    mine = Workload.objects.filter(tenant_id__in=readable, pk__in=_ids(found))
    return {row.pk: row for row in mine.select_related("tenant", "flavor").defer("bulk")}


def _line(one: _Found, roles: Roles, rows: Mapping[UUID, Workload], likely: Mapping[UUID, Likely]) -> Line:
    shown = quotas.shown_cohorts(one.cluster.pk)
    known = frozenset(team.slug for team, _ in roles.values())
    names_of = _Names(
        teams=Teams(one.cluster.prefix, known, any(team.cohort in shown for team in one.teams)),
        classes=quotas.priorities(one.cluster.pk),
        flavors=list(quotas.live_flavors().filter(cluster_id=one.cluster.pk)),
        likely=likely,
    )
    places = []
    for member in one.shown:
        row = rows.get(member.workload_id) if member.workload_id else None
        choices = _priorities(row, roles, names_of.classes) if row else ()
        places.append(names_of.place(member, row, one.state.lines, choices))
    return Line(
        cluster=one.cluster.name,
        cohort=one.root.removeprefix(one.cluster.prefix),
        length=len(one.line),
        places=tuple(places),
        left_out=len(one.line) - len(places),
        as_of=one.state.as_of,
    )


@dataclass(frozen=True)
class _Names:
    """How teams, flavors and priorities are called on one cluster, for one reader."""

    teams: Teams
    classes: Sequence[PriorityClass]
    flavors: Sequence[Flavor]
    likely: Mapping[UUID, Likely]

    def place(self, member: Member, row: Workload | None, lines: Lines, priorities: tuple[str, ...]) -> Place:
        return Place(
            place=lines.places[member.key],
            queue_place=lines.queue_places[member.key],
            team=self.teams.name(member.queue),
            gpus=member.gpus,
            flavor=row.flavor.name if row else _flavor(member, self.flavors),
            priority=member.priority,
            priority_name=next((one.name for one in self.classes if one.value == member.priority), ""),
            since=member.created,
            likely=self.likely.get(member.workload_id) if member.workload_id else None,
            workload=row,
            priorities=priorities,
        )


def _flavor(member: Member, flavors: Sequence[Flavor]) -> str:
    """The one flavor that has what it asks for and that it may use."""
    fitting = [
        row.name
        for row in flavors
        if row.resource in member.units and (not member.may_use or quotas.kueue_name(row) in member.may_use)
    ]
    return fitting[0] if len(fitting) == 1 else ""


def _priorities(row: Workload, roles: Roles, classes: Sequence[PriorityClass]) -> tuple[str, ...]:
    """For managers, and where a priority may change while it waits."""
    if "priority" not in CHANGEABLE_LIVE[row.kind] or not allows(roles[row.tenant_id][1], Permission.PRIORITIES):
        return ()
    return tuple(one.name for one in classes)
