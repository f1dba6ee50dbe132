"""What may be used and what is held now. Figures come from the mirror and say as of when; None where it is unknown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from portal.cluster.models import Cluster, MirrorStream
from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.lookups import is_askable
from quotas import arithmetic, manifests, observe
from quotas.arithmetic import Share
from quotas.models import Allocation, Cohort, Flavor, FlavorPrice, Image, Mode, PriorityClass, Queue, Quota
from quotas.selectors.books import Seen, Shares
from quotas.selectors.books import kueue_name as kueue_name
from tenants import selectors as tenants
from tenants.policies import is_administrator, not_found

if TYPE_CHECKING:
    from tenants.models import Tenant

FRESH_SECONDS = 10
PREEMPTED = "preempted"
CENTS_OF_CENTS = Decimal("0.0001")


@dataclass(frozen=True)
class FlavorView:
    """A flavor with what is free of it now. `price_hour` in the installation's currency, per unit.

    `capacity` counts what can be used; `unavailable` is built in as well, but its node or its card is out of order.
    """

    id: UUID
    cluster_id: UUID
    name: str
    cluster: str
    mode: str
    card: str
    resource: str
    memory_mib: int
    max_per_node: int
    price_hour: Decimal | None
    capacity: int | None
    unavailable: int | None
    free: int | None
    as_of: datetime | None


def flavors(actor: Actor) -> list[FlavorView]:
    """The flavors of the clusters on which the actor's teams have a space (all for an administrator), by name."""
    rows = list(_visible_flavors(actor))
    seen = Seen.of_all({row.cluster_id for row in rows})
    return [_view(row, seen[row.cluster_id]) for row in rows]


def cluster(name: str) -> Cluster | None:
    """The cluster of this name. For administrators' commands."""
    return Cluster.objects.filter(name=name).first()


def flavor_view(actor: Actor, name: str) -> FlavorView:
    """One of `flavors`; NotFound otherwise."""
    row = _visible_flavors(actor).filter(name=name).first() if is_askable(name) else None
    if row is None:
        raise not_found()
    return _view(row, Seen.of_all({row.cluster_id})[row.cluster_id])


def flavor(name: str) -> Flavor | None:
    """The flavor that a request names, with its cluster; None when there is none to choose."""
    return live_flavors().filter(name=name).first() if is_askable(name) else None


def live_flavors() -> QuerySet[Flavor]:
    """What can be chosen, with `cluster` loaded, by name."""
    return Flavor.objects.filter(active=True, deleting=False).select_related("cluster").order_by("name")


def flavor_of(cluster_id: UUID, resource_flavor: str) -> Flavor | None:
    """The flavor of a ResourceFlavor's name, as Kueue's assignments give it."""
    rows = Flavor.objects.filter(cluster_id=cluster_id).select_related("cluster")
    return next((row for row in rows if kueue_name(row) == resource_flavor), None)


def images(kind: str | None = None) -> list[Image]:
    """The catalogue as people see it, by name; for one kind of workload where `kind` is given."""
    rows = Image.objects.filter(active=True).only("name", "reference", "kinds", "description").order_by("name")
    return [row for row in rows if kind is None or kind in row.kinds]


def image(name: str) -> Image:
    """NotFound for a name that is not in the catalogue."""
    row = Image.objects.filter(name=name, active=True).first() if is_askable(name) else None
    if row is None:
        raise not_found()
    return row


def offered_to(team: Tenant) -> list[Flavor]:
    """What a request of the team may name, by name, with the columns that judging it reads. `as_of`: the mirror's."""
    heard = MirrorStream.objects.filter(cluster=OuterRef("cluster_id"), kind="Workload").values("synced_at")
    usable = live_flavors().filter(cluster_id__in=tenants.cluster_ids_of(team.pk))
    cluster = ("name", "prefix", "endpoint_url", "auth_filter")
    columns = ("name", "mode", "resource", "memory_mib", "max_per_node", *(f"cluster__{name}" for name in cluster))
    return list(usable.only(*columns).annotate(as_of=Subquery(heard[:1])))


def priorities(cluster_id: UUID) -> list[PriorityClass]:
    """What a request may name on this cluster, highest first."""
    rows = PriorityClass.objects.filter(cluster_id=cluster_id, deleting=False).defer("applied", "problem")
    return list(rows.order_by("-value", "name"))


def priority_choices() -> list[PriorityClass]:
    """Every name once, highest first: for a form that does not know the cluster yet."""
    rows = PriorityClass.objects.filter(deleting=False).order_by("-value", "name")
    return list({row.name: row for row in rows}.values())


def queue_of(tenant_id: UUID, cluster_id: UUID) -> Queue | None:
    """The team's queue there; None before the first pass has made it."""
    return Queue.objects.filter(tenant_id=tenant_id, cluster_id=cluster_id).defer("applied", "problem").first()


def shows_teams(cluster_id: UUID, cohort: str) -> bool:
    """Whether teams of this cohort see each other's names (never people, names of work or ids)."""
    return Cohort.objects.filter(cluster_id=cluster_id, name=cohort, show_teams=True).exists()


def shown_cohorts(cluster_id: UUID) -> frozenset[str]:
    """The cohorts whose teams see each other's names."""
    return frozenset(Cohort.objects.filter(cluster_id=cluster_id, show_teams=True).values_list("name", flat=True))


def maximum(team: Tenant, of: Flavor) -> int:
    """Units of the flavor that the team could hold were everybody else idle; asking for more can never run."""
    return maxima(team, [of])[of.pk]


def maxima(team: Tenant, of: Iterable[Flavor]) -> dict[UUID, int]:
    """`maximum` of several flavors by their id, by two queries."""
    return maxima_of([team], of)[team.pk]


def maxima_of(teams: Collection[Tenant], of: Iterable[Flavor]) -> dict[UUID, dict[UUID, int]]:
    """`maxima` of several teams by their id, by two queries however many they are."""
    wanted = list(of)
    shares = Shares.around(teams, {row.cluster_id for row in wanted})
    return {team.pk: {row.pk: _maximum(team, shares.cells(team, row)) for row in wanted} for team in teams}


def _maximum(team: Tenant, cells: Mapping[str, Share]) -> int:
    own = cells.get(team.slug)
    others = [share for owner, share in cells.items() if owner != team.slug]
    return 0 if own is None else arithmetic.maximum(own, others, in_cohort=bool(team.cohort))


def tenant_quota(actor: Actor, slug: str) -> list[dict[str, Any]]:
    """One row per GPU flavor of every cluster the team has a space on: what it owns, holds, borrows and lends.

    A flavor without quota is there with 0. `held` and what follows from it are None until the mirror has synced.
    """
    team = tenants.tenant(actor, slug)
    clusters = tenants.clusters_of([team.pk])[team.pk]
    rows = list(live_flavors().filter(cluster_id__in=clusters))
    return _quota_rows([team], {team.pk: clusters}, rows, Seen.of_all(clusters))[team.slug]


@dataclass(frozen=True)
class Away:
    """A cluster that does not answer. `why`: in the cluster client's words, for administrators."""

    cluster: str
    since: datetime
    why: str


def _away(rows: Iterable[Cluster]) -> list[Away]:
    found = {row.name: row for row in rows}
    return [Away(n, r.unreachable_since, r.unreachable_reason) for n, r in sorted(found.items()) if r.unreachable_since]


@dataclass(frozen=True)
class Overview:
    """What home shows: the flavors with what is free, by slug the rows of `tenant_quota`, and what does not answer."""

    flavors: list[FlavorView]
    quotas: dict[str, list[dict[str, Any]]]
    away: list[Away]


def overview(actor: Actor, teams: Collection[Tenant]) -> Overview:
    """`flavors` and the quota of `teams` (which the actor may see), by queries that grow with nothing."""
    clusters = tenants.clusters_of([team.pk for team in teams])
    rows = live_flavors().annotate(price_hour=_price_today())
    if not is_administrator(actor):
        rows = rows.filter(cluster_id__in=set().union(*clusters.values()))
    found = list(rows)
    seen = Seen.of_all({row.cluster_id for row in found})
    views = [_view(row, seen[row.cluster_id]) for row in found]
    return Overview(views, _quota_rows(teams, clusters, found, seen), _away(row.cluster for row in found))


def _quota_rows(
    teams: Collection[Tenant],
    clusters: Mapping[UUID, frozenset[UUID]],
    flavors: Iterable[Flavor],
    seen: Mapping[UUID, Seen],
) -> dict[str, list[dict[str, Any]]]:
    """By slug: one row per GPU flavor of the clusters on which the team has a space, cluster by cluster, by name."""
    ordered = sorted((row for row in flavors if row.mode != Mode.NONE), key=lambda row: (row.cluster.name, row.name))
    shares = Shares.around(teams, {row.cluster_id for row in ordered})
    return {
        team.slug: [
            {
                "cluster": row.cluster.name,
                "flavor": row.name,
                "resource": row.resource,
                **_figures(team, row, shares.cells(team, row), seen[row.cluster_id]),
            }
            for row in ordered
            if row.cluster_id in clusters[team.pk]
        ]
        for team in teams
    }


def quotas_of(tenant_id: UUID, cluster_id: UUID) -> QuerySet[Quota]:
    """The team's cells on one cluster, with `flavor` loaded."""
    rows = Quota.objects.filter(tenant_id=tenant_id, cluster_id=cluster_id, flavor__deleting=False)
    return rows.select_related("flavor").order_by("flavor__name", "resource")


def allocations(workload_id: UUID, run: int | None = None) -> QuerySet[Allocation]:
    """When a workload (or one run of it) held quota, oldest first."""
    rows = Allocation.objects.filter(workload_id=workload_id).order_by("admitted_at", "flavor", "resource")
    return rows if run is None else rows.filter(run=run)


def taken_back(tenant_id: UUID, since: datetime) -> list[Allocation]:
    """What the team's work had to give back to make room for other work since then, newest first."""
    rows = Allocation.objects.filter(tenant_id=tenant_id, why=PREEMPTED, released_at__gte=since)
    return list(rows.order_by("-released_at", "pk"))


def freshness() -> str:
    """Changes whenever the clusters' figures are ten seconds newer: pages compare it instead of rendering again."""
    newest = MirrorStream.objects.exclude(synced_at=None).order_by("-synced_at")
    latest = newest.values_list("synced_at", flat=True).first()
    return "" if latest is None else str(int(latest.timestamp()) // FRESH_SECONDS)


def _visible_flavors(actor: Actor) -> QuerySet[Flavor]:
    rows = live_flavors()
    if not is_administrator(actor):
        clusters = tenants.cluster_ids(tenants.tenant_ids(actor))
        rows = rows.filter(cluster_id__in=clusters)
    return rows.annotate(price_hour=_price_today())


def _price_today() -> Subquery:
    dated = FlavorPrice.objects.filter(flavor=OuterRef("pk"), valid_from__lte=clock.now().date())
    return Subquery(dated.order_by("-valid_from").values("price_hour")[:1])


def _price_of(row: Flavor) -> Decimal | None:
    """As `_price_today` annotated it; SQLite counts money in floats and adds noise."""
    price = getattr(row, "price_hour", None)
    return None if price is None else price.quantize(CENTS_OF_CENTS)


def _view(row: Flavor, seen: Seen) -> FlavorView:
    capacity = unavailable = free = None
    if row.mode != Mode.NONE and seen.nodes is not None:
        capacity = observe.capacity(seen.nodes, resource=row.resource, labels=row.node_labels)
        unavailable = observe.unavailable(seen.nodes, resource=row.resource, labels=row.node_labels)
        free = seen.free(row, capacity)
    return FlavorView(
        id=row.pk,
        cluster_id=row.cluster_id,
        name=row.name,
        cluster=row.cluster.name,
        mode=row.mode,
        card=row.card,
        resource=row.resource,
        memory_mib=row.memory_mib,
        max_per_node=row.max_per_node,
        price_hour=_price_of(row),
        capacity=capacity,
        unavailable=unavailable,
        free=free,
        as_of=seen.as_of,
    )


def _figures(team: Tenant, row: Flavor, cells: Mapping[str, Share], seen: Seen) -> dict[str, Any]:
    own = cells.get(team.slug, Share(0, borrowing_limit=0))
    figures: dict[str, Any] = {
        "nominal": own.nominal,
        "borrowing_limit": own.borrowing_limit,
        "lending_limit": own.lending_limit,
        "held": None,
        "borrowed": None,
        "lent": None,
        "as_of": seen.as_of,
    }
    if seen.held is not None:
        pairs = {
            owner: (share, seen.holds(manifests.cluster_queue_name(row.cluster.prefix, owner), row))
            for owner, share in {team.slug: own, **cells}.items()
        }
        held = pairs[team.slug][1]
        lent = arithmetic.lent(pairs)[team.slug]
        figures |= {"held": held, "borrowed": max(0, held - own.nominal), "lent": lent}
    return figures
