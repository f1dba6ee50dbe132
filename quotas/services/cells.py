"""Quotas: what a team owns, may borrow and lends; and its queue's manners."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from quotas import manifests
from quotas.arithmetic import is_quantity
from quotas.models import Flavor, Mode, Queue, Quota
from quotas.services import rows
from tenants import selectors as tenants
from tenants.policies import not_found

MOST_UNITS = 1_000_000


def put_quota(
    actor: Actor,
    *,
    tenant: str,
    flavor: str,
    nominal: int,
    borrowing_limit: int | None = None,
    lending_limit: int | None = None,
) -> Quota:
    """Units of a flavor that a team owns. A None limit is no limit; limits count only inside a cohort.

    Lowering stops nobody by itself: what runs above it is borrowed from then on. Raises Invalid, NotFound or Denied.
    """
    rows.require(actor)
    team = tenants.tenant(actor, tenant)
    numbers = {"nominal": nominal, "borrowing_limit": borrowing_limit, "lending_limit": lending_limit}
    with transaction():
        of = Flavor.objects.select_for_update().filter(name=flavor, deleting=False).first()
        if of is None or of.mode == Mode.NONE:
            raise rows.refuse("flavor", _("There is no such flavor with GPU."))
        _check(numbers)
        queue = ensure_queue(team.pk, of.cluster_id)
        key = {"tenant_id": team.pk, "cluster_id": of.cluster_id, "flavor": of, "resource": of.resource}
        row = Quota.objects.select_for_update().filter(**key).first() or Quota(**key)
        result = rows.put(actor, rows.Subject("quota", f"{tenant}/{flavor}", team.pk, team.slug), row, numbers)
        if result.changed:
            work.wake("queue", queue.pk)
    return result.row


def delete_quota(actor: Actor, *, tenant: str, flavor: str) -> None:
    """The team has nothing of this flavor any more, and cannot borrow it. NotFound where it had nothing."""
    rows.require(actor)
    team = tenants.tenant(actor, tenant)
    with transaction():
        row = Quota.objects.filter(tenant_id=team.pk, flavor__name=flavor).first()
        if row is None:
            raise not_found()
        queue = ensure_queue(team.pk, row.cluster_id)
        rows.remove(actor, rows.Subject("quota", f"{tenant}/{flavor}", team.pk, team.slug), row)
        work.wake("queue", queue.pk)


def put_queue(actor: Actor, *, tenant: str, cluster: Cluster, **fields: Any) -> Queue:
    """How the team's queue takes back and preempts (`reclaim_within_cohort`, `within_queue`), and its `cpu`, `memory`.

    Raises Invalid, NotFound or Denied.
    """
    rows.require(actor)
    team = tenants.tenant(actor, tenant)
    _check_queue(fields)
    with transaction():
        row = ensure_queue(team.pk, cluster.pk)
        result = rows.put(actor, rows.Subject("queue", f"{tenant}/{cluster.name}", team.pk, team.slug), row, fields)
        if result.changed:
            work.wake("queue", row.pk)
    return result.row


def ensure_queue(tenant_id: UUID, cluster_id: UUID) -> Queue:
    """Inside the caller's transaction: the row of a team's queue, under the id of its space. NotFound without one."""
    space = tenants.space_of(tenant_id, cluster_id)
    if space is None:
        raise not_found()
    row, _created = Queue.objects.get_or_create(
        pk=space.pk, defaults={"tenant_id": tenant_id, "cluster_id": cluster_id}
    )
    return row


def _check(numbers: dict[str, int | None]) -> None:
    whole = _("Give a whole number from 0 to %(most)s.") % {"most": MOST_UNITS}
    for field, value in numbers.items():
        limited = value is None and field != "nominal"
        if not limited and not (type(value) is int and 0 <= value <= MOST_UNITS):
            raise rows.refuse(field, whole)
    nominal, lending = numbers["nominal"], numbers["lending_limit"]
    if nominal is not None and lending is not None and lending > nominal:
        raise rows.refuse("lending_limit", _("A team cannot lend more than it owns."))


def _check_queue(fields: rows.Fields) -> None:
    allowed = {"reclaim_within_cohort": manifests.RECLAIM, "within_queue": manifests.WITHIN_QUEUE}
    for field, values in allowed.items():
        if field in fields and fields[field] not in values:
            raise rows.refuse(field, _("Use one of %(values)s.") % {"values": ", ".join(values)})
    for field in ("cpu", "memory"):
        if field in fields and not is_quantity(fields[field]):
            raise rows.refuse(field, _("Give a quantity such as 64 or 256Gi."))
    for field in fields:
        if field not in (*allowed, "cpu", "memory"):
            raise rows.refuse(field, _("There is no such field."), "unknown_field")
