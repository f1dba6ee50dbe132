"""Quota as rows and as the mirror has it: who owns what around a team, and who holds what now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Q

from portal.cluster import selectors as mirror
from quotas import arithmetic, manifests, observe
from quotas.arithmetic import Share
from quotas.models import Cohort, Flavor, Quota

if TYPE_CHECKING:
    from tenants.models import Tenant


def kueue_name(row: Flavor) -> str:
    """The ResourceFlavor's name of a flavor whose cluster is loaded."""
    return manifests.flavor_name(row.cluster.prefix, row.name, row.mode)


@dataclass(frozen=True)
class Seen:
    """What the mirror says of one cluster: nodes, and units held by (queue, flavor, resource). None: not synced yet."""

    nodes: tuple[mirror.NodeCapacity, ...] | None
    held: Counter[tuple[str, str, str]] | None
    as_of: datetime | None

    @classmethod
    def of_all(cls, cluster_ids: Collection[UUID]) -> dict[UUID, Seen]:
        """By cluster; two queries however many they are."""
        return {cluster_id: cls._of(found) for cluster_id, found in mirror.glance(cluster_ids).items()}

    @classmethod
    def _of(cls, found: mirror.Glance) -> Seen:
        held: Counter[tuple[str, str, str]] | None = None
        if found.reserved_as_of is not None:
            held = Counter()
            for row in found.reserved:
                for cell in observe.held(row.data):
                    held[cell.queue, cell.flavor, cell.resource] += cell.units
        known = [at for at in (found.capacity.as_of, found.reserved_as_of) if at is not None]
        nodes = found.capacity.nodes if found.capacity.as_of is not None else None
        return cls(nodes, held, min(known) if len(known) == 2 else None)

    def holds(self, queue: str, row: Flavor) -> int:
        return self.held[queue, kueue_name(row), row.resource] if self.held is not None else 0

    def free(self, row: Flavor, capacity: int) -> int | None:
        if self.held is None:
            return None
        of = kueue_name(row), row.resource
        return max(0, capacity - sum(units for (_queue, *cell), units in self.held.items() if tuple(cell) == of))


@dataclass(frozen=True)
class Shares:
    """The quota cells around some teams, and how cohorts hang together. A cell's owner is its slug and its cohort."""

    by_flavor: Mapping[tuple[UUID, str], Mapping[tuple[str, str], Share]]
    parents: Mapping[UUID, Mapping[str, str | None]]

    @classmethod
    def around(cls, teams: Collection[Tenant], cluster_ids: Collection[UUID]) -> Shares:
        """Two queries: the trees of these clusters' cohorts, and the cells of every team in the trees of `teams`."""
        parents: dict[UUID, dict[str, str | None]] = {cluster_id: {} for cluster_id in cluster_ids}
        rows = Cohort.objects.filter(cluster_id__in=cluster_ids, deleting=False)
        for cluster_id, name, parent in rows.values_list("cluster_id", "name", "parent__name"):
            parents[cluster_id][name] = parent
        cohorts = {team.cohort for team in teams if team.cohort}
        names = {name for tree in parents.values() for cohort in cohorts for name in arithmetic.tree_of(cohort, tree)}
        near = Q(tenant__cohort__in=names) | Q(tenant__in=[team.pk for team in teams])
        cells = Quota.objects.filter(near, cluster_id__in=cluster_ids).select_related("tenant")
        found: dict[tuple[UUID, str], dict[tuple[str, str], Share]] = defaultdict(dict)
        for cell in cells:
            share = Share(cell.nominal, cell.borrowing_limit, cell.lending_limit)
            found[cell.flavor_id, cell.resource][cell.tenant.slug, cell.tenant.cohort] = share
        return cls(found, parents)

    def cells(self, team: Tenant, row: Flavor) -> dict[str, Share]:
        """By slug: the shares of the flavor in the tree of the team's cohort, its own included."""
        tree = arithmetic.tree_of(team.cohort, self.parents[row.cluster_id]) if team.cohort else frozenset()
        around = self.by_flavor.get((row.pk, row.resource), {})
        return {slug: share for (slug, cohort), share in around.items() if slug == team.slug or cohort in tree}
