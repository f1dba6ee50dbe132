"""Workloads inside the engine: what waits, what holds quota, how far a search for flavors got.

None of these objects is changed once it is made, so forks of an engine share them.
"""

from dataclasses import dataclass
from functools import cache

from portal.admission.model import PodSet, PodSetAssignment, WorkloadSpec

ShapeKey = tuple[object, ...]


class Shape:
    """A scheduling class: workloads of one shape and queue are decided alike, so one rejection parks them all.

    An engine and its forks have one object for each, so shapes are compared by identity.
    """

    __slots__ = ("partial", "podsets", "priority")

    def __init__(self, spec: WorkloadSpec) -> None:
        self.priority = spec.priority
        self.podsets = spec.podsets
        self.partial = any(podset.min_count is not None for podset in spec.podsets)


def shape_key(spec: WorkloadSpec) -> ShapeKey:
    """What makes two workloads equals."""
    if len(spec.podsets) == 1:
        return spec.priority, _podset_key(spec.podsets[0])
    return spec.priority, *[_podset_key(podset) for podset in spec.podsets]


def _podset_key(podset: PodSet) -> ShapeKey:
    requests = podset.requests
    amounts = tuple(requests.items()) if len(requests) == 1 else tuple(sorted(requests.items()))
    return podset.name, podset.count, podset.min_count, podset.flavors_allowed, amounts


Order = tuple[int, float, str]


class Workload:
    """One workload. `order` sorts a queue: higher priority, then earlier creation, then key."""

    __slots__ = ("created", "key", "order", "priority", "queue", "shape", "spec")

    def __init__(self, spec: WorkloadSpec, shape: Shape) -> None:
        self.spec = spec
        self.shape = shape
        self.key = spec.key
        self.queue = spec.queue
        self.priority = spec.priority
        self.created = spec.created
        self.order: Order = (-spec.priority, spec.created, spec.key)


Rank = tuple[int, int, str]


class Holder:
    """A workload that holds quota: `usage` by cell without zeros, `cells` with those of which it asked nothing.

    `rank` is the order among victims: lower priority, then the latest reserved (in whole seconds), then the key.
    """

    __slots__ = ("assignment", "cells", "key", "queue", "rank", "usage", "workload")

    def __init__(
        self,
        workload: Workload,
        assignment: tuple[PodSetAssignment, ...],
        usage: dict[int, int],
        reserved_at: float,
    ) -> None:
        self.workload = workload
        self.key = workload.key
        self.queue = workload.queue
        self.assignment = assignment
        self.cells = tuple(usage)
        self.usage = tuple((cell, amount) for cell, amount in usage.items() if amount)
        self.rank: Rank = (workload.priority, -int(reserved_at), workload.key)


@dataclass(slots=True)
class FlavorScan:
    """Where the search for flavors stopped: per pod set and group, the index last tried (-1: start over)."""

    last_tried: tuple[tuple[int, ...], ...]
    generation: int
    cycle: int

    def start(self, podset: int, group: int) -> int:
        """The index of the first flavor to look at."""
        if podset >= len(self.last_tried) or group >= len(self.last_tried[podset]):
            return 0
        return self.last_tried[podset][group] + 1


@cache
def _fnv1a(name: str) -> int:
    """The 64-bit FNV-1a hash, by which Kueue keeps resource names in order."""
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest


def in_resource_order(names: list[str]) -> list[str]:
    """Resource names in the order in which Kueue looks for their flavors."""
    return sorted(names, key=_fnv1a)
