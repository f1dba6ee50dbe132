"""What mirrored objects say about hardware and held quota. Pure: dicts in, figures out; odd data is skipped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from portal.cluster.selectors import NodeCapacity

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Held:
    """Units of one resource of one flavor that one Kueue Workload holds. Names are the cluster's own."""

    queue: str
    flavor: str
    resource: str
    units: int


def condition(obj: Object, type_: str) -> Mapping[str, Any] | None:
    """The condition of this type, or None."""
    found = [row for row in _list(_dict(obj.get("status")).get("conditions")) if row.get("type") == type_]
    return found[0] if found else None


def is_true(obj: Object, type_: str) -> bool:
    row = condition(obj, type_)
    return row is not None and row.get("status") == "True"


def units(text: object) -> int:
    """Whole units of an extended resource; 0 for what is not one."""
    plain = str(text)
    return int(plain) if plain.isascii() and plain.isdigit() else 0


def capacity(nodes: Iterable[NodeCapacity], *, resource: str, labels: Mapping[str, str]) -> int:
    """Units that ready, schedulable nodes with these labels offer."""
    return sum(
        units(node.allocatable.get(resource, "0"))
        for node in nodes
        if node.ready and node.schedulable and labels.items() <= node.labels.items()
    )


def unavailable(nodes: Iterable[NodeCapacity], *, resource: str, labels: Mapping[str, str]) -> int:
    """Units that are built in and cannot be used now: the node is lost or closed, or its card is."""
    total = 0
    for node in nodes:
        if labels.items() <= node.labels.items():
            usable = units(node.allocatable.get(resource, "0")) if node.ready and node.schedulable else 0
            total += max(0, units(node.capacity.get(resource, "0")) - usable)
    return total


def held(workload: Object) -> list[Held]:
    """What a Kueue Workload holds: from QuotaReserved until it finishes or gives it back, less reclaimed pods."""
    if not is_true(workload, "QuotaReserved") or is_true(workload, "Finished"):
        return []
    status = _dict(workload.get("status"))
    admission = _dict(status.get("admission"))
    queue = str(admission.get("clusterQueue", ""))
    reclaimed = {row.get("name"): units(row.get("count")) for row in _list(status.get("reclaimablePods"))}
    total: Counter[tuple[str, str]] = Counter()
    for podset in _list(admission.get("podSetAssignments")):
        count = units(podset.get("count", 1))
        left = max(0, count - reclaimed.get(podset.get("name"), 0))
        for resource, flavor in _dict(podset.get("flavors")).items():
            usage = units(_dict(podset.get("resourceUsage")).get(resource, "0"))
            total[str(flavor), str(resource)] += usage * left // count if count else 0
    return [Held(queue, flavor, resource, number) for (flavor, resource), number in total.items() if number]


def active(queue: Object) -> bool:
    """Whether Kueue takes work into this ClusterQueue or LocalQueue. Not said yet counts as not active."""
    return is_true(queue, "Active")


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []
