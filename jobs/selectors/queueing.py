"""The queue page: everything that waits in the cohorts of the actor's teams, in the order in which it is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
from quotas.planning import Likely, Member, Standing
from tenants import selectors as tenants
from tenants.policies import is_administrator
from tenants.roles import Permission, Role, allows

if TYPE_CHECKING:
    from portal.cluster.models import Cluster
    from quotas.models import Flavor, PriorityClass
    from tenants.models import Tenant

MOST_SHOWN = 200


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


def lines(actor: Actor) -> list[Line]:
    """One line per cohort (a team without one is a line of its own), by cluster and name.

    The number of queries depends on the clusters and the teams of the actor, never on what waits.
    """
    roles = _roles(actor)
    found: dict[tuple[str, str], _Found] = {}
    for cluster, teams in _by_cluster(roles).items():
        state = planning.standing(cluster.pk)
        for team in teams:
            queue = names.prefixed(cluster.prefix, team.slug)
            root = state.roots.get(queue, queue)
            entry = found.setdefault((cluster.name, root), _Found(cluster, state, queue, root, []))
            entry.teams.append(team)
    rows, likely = _own_rows(found.values(), roles), planning.latest(_ids(found.values()))
    return [_line(one, roles, rows, likely) for _, one in sorted(found.items())]


def lines_version(actor: Actor) -> str:
    """Changes with every entry of the teams' feeds, with every Kueue Workload, and with the figures' age."""
    ids = tenants.tenant_ids(actor)
    seqs = feed.last_seqs([feed.tenant_scope(tenant_id) for tenant_id in ids])
    return f"{sum(seqs.values())}.{quotas.freshness()}.{mirror.versions('Workload')}"


@dataclass
class _Found:
    """One cohort of one cluster, and the actor's teams in it. `queue`: of one of them."""

    cluster: Cluster
    state: Standing
    queue: str
    root: str
    teams: list[Tenant]


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


def _ids(found: Iterable[_Found]) -> set[UUID]:
    """Our workloads that wait, in any of the lines."""
    members = [member for one in found for member in one.state.waiting_in_cohort(one.queue)]
    return {member.workload_id for member in members if member.workload_id is not None}


def _own_rows(found: Iterable[_Found], roles: Roles) -> Mapping[UUID, Workload]:
    """The workloads behind what waits, of the teams that the actor belongs to; one query."""
    readable = [pk for pk, (_, role) in roles.items() if allows(role, Permission.READ)]
    mine = Workload.objects.filter(tenant_id__in=readable, pk__in=_ids(found))
    return {row.pk: row for row in mine.select_related("tenant", "flavor").defer("bulk")}


def _line(one: _Found, roles: Roles, rows: Mapping[UUID, Workload], likely: Mapping[UUID, Likely]) -> Line:
    members = one.state.waiting_in_cohort(one.queue)
    shown = quotas.shown_cohorts(one.cluster.pk)
    known = frozenset(team.slug for team, _ in roles.values())
    names_of = _Names(
        teams=Teams(one.cluster.prefix, known, any(team.cohort in shown for team in one.teams)),
        classes=quotas.priorities(one.cluster.pk),
        flavors=list(quotas.live_flavors().filter(cluster_id=one.cluster.pk)),
        likely=likely,
    )
    in_queue: Counter[str] = Counter()
    places = []
    for place, member in enumerate(members, start=1):
        in_queue[member.queue] += 1
        row = rows.get(member.workload_id) if member.workload_id else None
        if row is not None or place <= MOST_SHOWN:
            choices = _priorities(row, roles, names_of.classes) if row else ()
            places.append(names_of.place(member, row, place, in_queue[member.queue], choices))
    return Line(
        cluster=one.cluster.name,
        cohort=one.root.removeprefix(one.cluster.prefix),
        length=len(members),
        places=tuple(places),
        left_out=len(members) - len(places),
        as_of=one.state.as_of,
    )


@dataclass(frozen=True)
class _Names:
    """How teams, flavors and priorities are called on one cluster, for one reader."""

    teams: Teams
    classes: Sequence[PriorityClass]
    flavors: Sequence[Flavor]
    likely: Mapping[UUID, Likely]

    def place(
        self, member: Member, row: Workload | None, place: int, queue_place: int, priorities: tuple[str, ...]
    ) -> Place:
        return Place(
            place=place,
            queue_place=queue_place,
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
