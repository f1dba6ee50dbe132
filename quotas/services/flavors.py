"""Flavors and their prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from portal.cluster.models import Cluster
from portal.gpus import SHARED_GPU
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.errors import Invalid
from portal.kernel.transaction import transaction
from quotas.models import Flavor, FlavorPrice, Mode, Quota
from quotas.services import rows
from tenants.policies import not_found

FIXED = ("cluster", "mode", "resource")
MOST_LABELS = 8  # Kueue's own limits of a ResourceFlavor
LABEL_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
DNS = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
LABEL_KEY = re.compile(rf"({DNS}/)?{LABEL_PART}")
LABEL_VALUE = re.compile(rf"({LABEL_PART})?")
RESOURCE = re.compile(rf"{DNS}/{LABEL_PART}")
TOLERATION_FIELDS = {"key", "operator", "value", "effect", "tolerationSeconds"}


def put_flavor(actor: Actor, *, name: str, cluster: Cluster, **fields: Any) -> Flavor:
    """A new flavor, or changes to one; its cluster, mode and resource do not change.

    Flavors of one cluster with the same resource use the same label keys with different values: pods carry the labels
    as their node selector, and Kueue pins a flavor by them only then. Raises Invalid or Denied.
    """
    rows.require(actor)
    with transaction():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        row = Flavor.objects.filter(name=name, deleting=False).select_related("cluster").first()
        wanted = {**fields, "cluster": cluster}
        _refuse_fixed(row, wanted)
        row = row or Flavor(name=name)
        _check({**_present(row), **wanted})
        _check_neighbours(row, {**_present(row), **wanted})
        result = rows.put(actor, rows.Subject("flavor", name), row, wanted)
        if result.changed:
            work.wake("flavor", result.row.pk)
    return result.row


def delete_flavor(actor: Actor, *, name: str) -> None:
    """Nobody can choose it any more; the row goes when the cluster's object is gone. Conflict `in_use` with quota."""
    rows.require(actor)
    with transaction():
        row = Flavor.objects.select_for_update().filter(name=name, deleting=False).first()
        if row is None:
            raise not_found()
        if row.mode == Mode.NONE or Quota.objects.filter(flavor=row).exists():
            raise rows.in_use()
        Flavor.objects.filter(pk=row.pk).update(deleting=True, active=False)
        rows.note(actor, rows.Subject("flavor", name), row.pk, "deleted")
        work.wake("flavor", row.pk)


def put_price(actor: Actor, *, flavor: str, valid_from: date, price_hour: Decimal) -> FlavorPrice:
    """The price of one unit-hour from this day on (UTC). Raises Invalid, NotFound or Denied."""
    rows.require(actor)
    with transaction():
        of = Flavor.objects.filter(name=flavor, deleting=False).first()
        if of is None:
            raise not_found()
        if price_hour < 0:
            raise rows.refuse("price_hour", _("A price is not negative."))
        row = FlavorPrice.objects.select_for_update().filter(flavor=of, valid_from=valid_from).first()
        row = row or FlavorPrice(flavor=of, valid_from=valid_from)
        label = f"{flavor} {valid_from.isoformat()}"
        return rows.put(actor, rows.Subject("price", label), row, {"price_hour": price_hour}).row


def _refuse_fixed(row: Flavor | None, wanted: Mapping[str, Any]) -> None:
    if row is None:
        return
    for field in FIXED:
        if field in wanted and wanted[field] != getattr(row, field):
            raise rows.refuse(field, _("This does not change: make another flavor."), "not_allowed")


def _present(row: Flavor) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("mode", "resource", "node_labels", "tolerations")}


def _check(values: Mapping[str, Any]) -> None:
    mode, resource, labels = values["mode"], values["resource"], values["node_labels"]
    if mode not in Mode.values or mode == Mode.CLAIM:
        raise rows.refuse("mode", _("Use whole, mig, shared or none."), "not_allowed")
    if fault := _resource_fault(mode, resource):
        raise rows.refuse("resource", fault)
    if mode == Mode.NONE and labels:
        raise rows.refuse("node_labels", _("CPU is on every node: this flavor has no labels."), "not_allowed")
    if not _are_labels(labels):
        raise rows.refuse("node_labels", _("Give at most 8 node labels, names and values as Kubernetes takes them."))
    if not _are_tolerations(values["tolerations"]):
        raise rows.refuse("tolerations", _("Give at most 8 tolerations, as Kubernetes takes them."))


def _resource_fault(mode: str, resource: object) -> str:
    if mode == Mode.NONE:
        return "" if resource == "" else _("A flavor without GPU has no resource.")
    if not isinstance(resource, str) or not RESOURCE.fullmatch(resource):
        return _("Give the resource's full name, such as nvidia.com/gpu.")
    if mode == Mode.MIG and "/mig-" not in resource:
        return _("A MIG resource looks like nvidia.com/mig-1g.10gb.")
    if mode == Mode.WHOLE and ("/mig-" in resource or resource == SHARED_GPU):
        return _("This resource stands for a part of a card.")
    return ""


def _are_labels(labels: object) -> bool:
    if not isinstance(labels, dict) or len(labels) > MOST_LABELS:
        return False
    return all(
        isinstance(key, str) and isinstance(value, str) and LABEL_KEY.fullmatch(key) and LABEL_VALUE.fullmatch(value)
        for key, value in labels.items()
    )


def _are_tolerations(tolerations: object) -> bool:
    if not isinstance(tolerations, list) or len(tolerations) > MOST_LABELS:
        return False
    return all(isinstance(row, dict) and row.keys() <= TOLERATION_FIELDS for row in tolerations)


def _check_neighbours(row: Flavor, values: Mapping[str, Any]) -> None:
    if values["mode"] == Mode.NONE:
        return
    others = Flavor.objects.filter(cluster=values["cluster"], resource=values["resource"], deleting=False)
    for other in others.exclude(pk=row.pk):
        if other.node_labels.keys() != values["node_labels"].keys() or other.node_labels == values["node_labels"]:
            raise _neighbour(other)


def _neighbour(other: Flavor) -> Invalid:
    message = _("%(other)s has the same resource: use the same label names as it, and another value.")
    return rows.refuse("node_labels", message % {"other": other.name}, "not_allowed")
