"""Clusters: what Turno drives and how its objects are named there."""

from __future__ import annotations

import ipaddress
from typing import Any

from django.utils.translation import gettext as _

from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from quotas.models import Cohort, Flavor, Mode, PriorityClass
from quotas.services import rows
from tenants.services import spaces

FIXED = ("prefix", "instance")
CPU_FLAVOR = "cpu"
FIRST = "default"  # as the first migration calls it
CIDRS = ("dns_cidrs", "api_server_cidrs")


def put_cluster(actor: Actor, *, name: str, **fields: Any) -> Cluster:
    """A new cluster (with its CPU flavor, and a space for every team), or changed settings of one.

    `prefix` and `instance` name what is there already and do not change. Raises Invalid or Denied.
    """
    rows.require(actor)
    _check(fields)
    with transaction():
        row = Cluster.objects.select_for_update().filter(name=name).first()
        for field in FIXED if row is not None else ():
            if fields.get(field, getattr(row, field)) != getattr(row, field):
                raise rows.refuse(
                    field, _("This names what is on the cluster already and does not change."), "not_allowed"
                )
        new = row is None
        result = rows.put(actor, rows.Subject("cluster", name), row or Cluster(name=name), {**fields})
        if new:
            _give_cpu_flavor(actor, result.row)
            spaces.open_on(result.row)
        elif result.changed:
            wake_everything(result.row)
    return result.row


def settle_first(actor: Actor, *, name: str, **fields: Any) -> Cluster | None:
    """The cluster of the first migration becomes this one; None where it is in use or was given another name before.

    While no team has a space there, `prefix` and `instance` are free, too. Raises Invalid or Denied.
    """
    rows.require(actor)
    with transaction():
        row = Cluster.objects.select_for_update().filter(name=FIRST).first()
        if row is None or spaces.any_on(row):
            return None
        named = {field: fields[field] for field in FIXED if field in fields}
        result = rows.put(actor, rows.Subject("cluster", name), row, {"name": name, **named})
        if result.changed:
            wake_everything(row)
        return put_cluster(actor, name=name, **fields)


def wake_everything(cluster: Cluster) -> None:
    """Inside the caller's transaction: every row that becomes objects there is looked at."""
    spaces.wake_cluster(cluster.pk)
    for kind, table in (("flavor", Flavor), ("cohort", Cohort), ("priority", PriorityClass)):
        for pk in table.objects.filter(cluster=cluster).values_list("pk", flat=True):
            work.wake(kind, pk)


def _give_cpu_flavor(actor: Actor, cluster: Cluster) -> None:
    """CPU and memory of every queue are of this flavor, so it is there from the start."""
    taken = Flavor.objects.filter(name=CPU_FLAVOR).exists()
    name = f"{CPU_FLAVOR}-{cluster.name}"[:40].rstrip("-") if taken else CPU_FLAVOR
    row = Flavor(cluster=cluster, name=name, mode=Mode.NONE)
    rows.put(actor, rows.Subject("flavor", name), row, {"mode": Mode.NONE.value})
    work.wake("flavor", row.pk)


def _check(fields: rows.Fields) -> None:
    for field in CIDRS:
        for text in fields.get(field) or []:
            try:
                ipaddress.ip_network(text)
            except (TypeError, ValueError) as error:
                raise rows.refuse(field, _("Give address ranges such as 10.0.0.0/8.")) from error
