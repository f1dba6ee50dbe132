"""A workload's state inside the engine: where it stands, what it holds, how far its search for flavors got."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from portal.admission.model import PodSetAssignment, WorkloadSpec


class Phase(IntEnum):
    """Where a workload stands. EVICTED still holds its quota, until its pods are gone."""

    WAITING = 0
    ADMITTED = 1
    EVICTED = 2
    INACTIVE = 3
    FINISHED = 4


@dataclass(slots=True)
class FlavorScan:
    """Where the search for flavors stopped: per pod set, the index last tried by resource (-1: start over)."""

    last_tried: list[dict[str, int]]
    generation: int
    cycle: int

    def pending(self) -> bool:
        """Whether there are flavors that the last attempt did not look at."""
        return any(index != -1 for tried in self.last_tried for index in tried.values())

    def start(self, podset: int, resource: str) -> int:
        """The index of the first flavor to look at."""
        if podset >= len(self.last_tried):
            return 0
        return self.last_tried[podset].get(resource, -1) + 1


# What one flavor has to provide: amounts by cell.
Option = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Needs:
    """What a workload asks of its queue's resource groups (`of`): per group and flavor, the amounts by cell.

    `groups` are those in which a shortage settles it; `simple`: one resource, one pod set, all or nothing.
    """

    of: object
    groups: tuple[tuple[Option, ...], ...]
    simple: bool


@dataclass(frozen=True, slots=True)
class Marks:
    """What would have to be free for a workload to have a chance: per group and flavor, the amounts by cell.

    They hold while the queue's `version` stays, and the forest's too where other queues' victims count (`forest`).
    """

    version: int
    forest: int | None
    groups: tuple[tuple[Option, ...], ...]


class Workload:
    """One workload. `order` sorts a queue: higher priority, then earlier creation, then key."""

    __slots__ = (
        "active",
        "assignment",
        "blocked",
        "cells",
        "eviction_stands",
        "marks",
        "message",
        "needs",
        "order",
        "phase",
        "rank",
        "reason",
        "rejection",
        "reserved_at",
        "scan",
        "shape",
        "spec",
        "usage",
    )

    def __init__(self, spec: WorkloadSpec) -> None:
        self.spec = spec
        self.order = (-spec.priority, spec.created, spec.key)
        self.shape = shape_of(spec)
        self.phase = Phase.WAITING
        self.active = True
        # Drained by a stopped queue: not eligible before the queue starts again, whatever un-parks its cohort.
        self.blocked = False
        self.scan: FlavorScan | None = None
        # Worked out when needed: what it asks, what must be free for it, and the search behind its last rejection.
        self.needs: Needs | None = None
        self.marks: Marks | None = None
        self.rejection: tuple[int, object] | None = None
        self.assignment: tuple[PodSetAssignment, ...] = ()
        self.usage: tuple[tuple[int, int], ...] = ()
        self.cells: frozenset[int] = frozenset()
        self.reserved_at = 0.0
        # The order among victims: lower priority first, then the latest reserved (in whole seconds), then the key.
        self.rank = (spec.priority, 0, spec.key)
        # Its last eviction has not been followed by an admission.
        self.eviction_stands = False
        self.message = ""
        self.reason = ""

    @property
    def holds_quota(self) -> bool:
        """Whether its usage is booked."""
        return self.phase in (Phase.ADMITTED, Phase.EVICTED)

    def copy(self) -> "Workload":
        """An independent copy; what it shares is never changed in place."""
        twin = Workload.__new__(Workload)
        for name in Workload.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin


def shape_of(spec: WorkloadSpec) -> Hashable:
    """The scheduling class: workloads of one shape and queue are decided alike, so one rejection parks them all."""
    podsets = tuple(
        (podset.name, podset.count, podset.min_count, tuple(sorted(podset.requests.items())), podset.flavors_allowed)
        for podset in spec.podsets
    )
    return spec.priority, podsets


@cache
def _fnv1a(name: str) -> int:
    """The 64-bit FNV-1a hash, by which Kueue keeps resource names in order."""
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return digest


def in_resource_order(names: Iterable[str]) -> list[str]:
    """Resource names in the order in which Kueue looks for their flavors."""
    return sorted(names, key=_fnv1a)
