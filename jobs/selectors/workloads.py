"""Workloads, their runs, history and manifests, as far as the actor may read them. An outsider gets NotFound."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from jobs.models import Run, RunObject, Workload
from jobs.states import LIVE_STATES, State
from portal.cluster.models import MirrorStream
from portal.kernel import feed
from portal.kernel.actors import Actor, Person
from portal.kernel.lookups import is_askable
from portal.kernel.models import FeedEntry
from tenants import selectors as tenants
from tenants.policies import not_found, role_of
from tenants.roles import Permission, Role, allows

if TYPE_CHECKING:
    from tenants.models import Tenant

AS_OF = Subquery(MirrorStream.objects.filter(cluster=OuterRef("cluster_id"), kind="Workload").values("synced_at")[:1])
ROWS = Workload.objects.select_related("tenant", "cluster", "flavor").annotate(as_of=AS_OF)
# Columns that no list shows, and of other tables those alone that one does.
UNLISTED = (
    *("bulk", "applied", "delete_data", "owner_id", "variant", "key_id", "key_rotation", "state_since", "changed_seq"),
    *("wanted", "wanted_by_type", "wanted_by_label", "start_requested", "spec_revision", "applied_revision"),
    *("data_kept_until", "deleted_at", "deadline_at"),
)
LISTED = (
    *(field.name for field in Workload._meta.concrete_fields if field.name not in UNLISTED),
    "tenant__slug",
    "cluster__name",
    "cluster__endpoint_url",
    "flavor__name",
)


@dataclass(frozen=True)
class Abilities:
    """What the actor may do with one workload, by role and ownership; the state may still forbid it now."""

    change: bool
    connect: bool
    read_logs: bool
    read_key: bool


@dataclass(frozen=True)
class Manifests:
    """What one run stored; derived secrets are markers in it."""

    run: int
    manifests: list[dict[str, Any]]


def workload(actor: Actor, workload_id: UUID) -> Workload:
    """NotFound for a missing or deleted one and for everybody outside the team. `as_of`: the mirror's time."""
    row = ROWS.filter(pk=workload_id).exclude(state=State.DELETED).first()
    if row is None or not allows(role_of(actor, row.tenant_id), Permission.READ):
        raise not_found()
    return row


def of_kind(actor: Actor, workload_id: UUID, kind: str) -> Workload:
    """The same, NotFound for another kind."""
    row = workload(actor, workload_id)
    if row.kind != kind:
        raise not_found()
    return row


def workloads(  # noqa: PLR0913  the API's filters, all by name
    actor: Actor,
    *,
    teams: Collection[Tenant] | None = None,
    tenant: str | None = None,
    project: str | None = None,
    kind: str | None = None,
    state: str | None = None,
    flavor: str | None = None,
    owner: str | None = None,
    q: str | None = None,
) -> QuerySet[Workload]:
    """What the actor's teams have and did not delete, with what `represent` shows in a list.

    `teams`: the actor's own, where the caller has just read them; else they are asked for now.
    """
    own = [team for team, _role in tenants.memberships(actor)] if teams is None else teams
    asked = [team.pk for team in own if tenant in (None, team.slug)]
    rows = ROWS.filter(tenant_id__in=asked).exclude(state=State.DELETED).only(*LISTED)
    equal = {
        "project": project,
        "kind": kind,
        "state": state,
        "flavor__name": flavor,
        "owner_label": owner,
    }
    if not all(is_askable(value) for value in (*equal.values(), q) if value is not None):
        return rows.none()
    rows = rows.filter(**{column: value for column, value in equal.items() if value is not None})
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(description__icontains=q))
    return rows.order_by("-pk")


def may(actor: Actor, row: Workload) -> Abilities:
    """Role and ownership, read now, so that a lost right counts at once."""
    role = role_of(actor, row.tenant_id)
    own = is_owner(actor, row)
    change = allows(role, Permission.CHANGE_ALL) or (own and allows(role, Permission.CHANGE_OWN))
    private = own and allows(role, Permission.CONNECT_OWN)
    return Abilities(
        change=change,
        connect=private and isinstance(actor, Person) and row.kind == "notebook",
        read_logs=private if row.kind == "notebook" else allows(role, Permission.READ),
        read_key=row.kind == "endpoint" and (private or role is Role.MANAGER),
    )


def is_owner(actor: Actor, row: Workload) -> bool:
    """Whether it was this person, or this machine, who asked for it."""
    return row.owner_type == actor.type and row.owner_id == actor.id


def runs(actor: Actor, workload_id: UUID) -> QuerySet[Run]:
    """Newest first, without the long parts."""
    row = workload(actor, workload_id)
    return Run.objects.filter(workload=row).select_related("workload").defer("spec").order_by("-number")


def events(actor: Actor, workload_id: UUID) -> QuerySet[FeedEntry]:
    """History and the cluster's events, in order; what only moves live pages is left out."""
    return feed.of_object(workload(actor, workload_id).pk).exclude(type="changed")


def manifests(actor: Actor, workload_id: UUID, run: int | None = None) -> Manifests:
    """What the run (the newest where none is named) became; empty before it was rendered. NotFound: no such run."""
    row = workload(actor, workload_id)
    number = row.run_number if run is None else run
    found = Run.objects.filter(workload=row, number=number).first()
    if found is None:
        raise not_found()
    objects = RunObject.objects.filter(run=found).order_by("ordinal")
    return Manifests(number, list(objects.values_list("manifest", flat=True)))


def live_count(tenant_id: UUID) -> int:
    """How many of the team's workloads count against its `max_live`."""
    return Workload.objects.filter(tenant_id=tenant_id, state__in=LIVE_STATES).count()


def counts_by_state() -> Iterable[tuple[tuple[str, ...], float]]:
    """(kind, state) -> how many, over all teams: for the metrics only."""
    for row in Workload.objects.exclude(state=State.DELETED).values("kind", "state").annotate(count=Count("pk")):
        yield (row["kind"], row["state"]), float(row["count"])
