"""Priorities that a request may name."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from quotas.models import PriorityClass
from quotas.services import rows
from tenants.policies import not_found

LEAST, MOST = -(2**31), 1_000_000_000


def put_priority(actor: Actor, *, cluster: Cluster, name: str, value: int, **fields: Any) -> PriorityClass:
    """`value`: higher goes first. Changing it changes waiting and running work at once (Kueue's own doing).

    `is_default` moves: at most one priority of a cluster has it. Raises Invalid or Denied.
    """
    rows.require(actor)
    if type(value) is not int or not LEAST <= value <= MOST:
        raise rows.refuse("value", _("Give a whole number, at most %(most)s.") % {"most": MOST})
    with transaction():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        row = PriorityClass.objects.filter(cluster=cluster, name=name, deleting=False).first()
        row = row or PriorityClass(cluster=cluster, name=name)
        if fields.get("is_default"):
            _give_up_default(actor, cluster, but=row)
        result = rows.put(actor, rows.Subject("priority", name), row, {"value": value, **fields})
        if result.changed:
            work.wake("priority", result.row.pk)
    return result.row


def delete_priority(actor: Actor, *, cluster: Cluster, name: str) -> None:
    """What names it keeps the value it got; nothing new can name it."""
    rows.require(actor)
    with transaction():
        row = PriorityClass.objects.filter(cluster=cluster, name=name, deleting=False).first()
        if row is None:
            raise not_found()
        PriorityClass.objects.filter(pk=row.pk).update(deleting=True, is_default=False)
        rows.note(actor, rows.Subject("priority", name), row.pk, "deleted")
        work.wake("priority", row.pk)


def _give_up_default(actor: Actor, cluster: Cluster, *, but: PriorityClass) -> None:
    for other in PriorityClass.objects.filter(cluster=cluster, is_default=True).exclude(pk=but.pk):
        rows.put(actor, rows.Subject("priority", other.name), other, {"is_default": False})
