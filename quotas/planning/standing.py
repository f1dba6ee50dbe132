"""Where the admission of one cluster stands: the engine at rest, who is in it, who waits before whom. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from uuid import UUID

from portal.admission import ClusterQueueSpec, Engine, QuotaCell


@dataclass(frozen=True)
class Member:
    """One Kueue Workload that waits for quota or holds it. `units` by resource, over all its pods.

    `flavors`: where it holds quota, by resource; empty while it waits. `may_use`: the ResourceFlavors that its pods may
    get; empty means all. `tenant`: the team's slug, or "".
    """

    key: str
    uid: str
    owner_uid: str
    queue: str
    tenant: str
    workload_id: UUID | None
    priority: int
    created: datetime
    held_since: datetime | None
    units: Mapping[str, int]
    flavors: Mapping[str, str]
    said: str  # Kueue's own message about why it waits; "" where it has not spoken
    limit_s: float | None = None  # Kueue ends it when it has held quota for so long
    may_use: frozenset[str] = frozenset()

    @property
    def gpus(self) -> int:
        """Units of GPU resources: everything that a node does not have anyway."""
        return sum(amount for name, amount in self.units.items() if name not in ("cpu", "memory", "pods"))


@dataclass(frozen=True)
class Lines:
    """Everybody, and who waits before whom. `roots`: ClusterQueue -> the root of its cohort tree, or itself; `orders`:
    ClusterQueue -> keys, as Kueue itself says."""

    members: Mapping[str, Member]
    roots: Mapping[str, str]
    orders: Mapping[str, Sequence[str]]

    @cached_property
    def by_queue(self) -> Mapping[str, Sequence[Member]]:
        """Kueue's own order where it has told of all who wait in a queue; else by priority, then age."""
        return {queue: self._as_told(queue, line) for queue, line in self._ours.items()}

    @cached_property
    def by_root(self) -> Mapping[str, Sequence[Member]]:
        """Of all queues whose quotas hang together: by priority, then age; those of one queue in that queue's order."""
        found: dict[str, list[Member]] = {}
        for one in self._in_order:
            found.setdefault(self.roots.get(one.queue, one.queue), []).append(one)
        lines = {queue: iter(line) for queue, line in self.by_queue.items()}
        return {root: [next(lines[one.queue]) for one in line] for root, line in found.items()}

    @cached_property
    def places(self) -> Mapping[str, int]:
        """By key of who waits: its 1-based place in `by_root`."""
        return {one.key: place for line in self.by_root.values() for place, one in enumerate(line, start=1)}

    @cached_property
    def queue_places(self) -> Mapping[str, int]:
        """By key of who waits: its 1-based place in `by_queue`."""
        return {one.key: place for line in self.by_queue.values() for place, one in enumerate(line, start=1)}

    @cached_property
    def by_owner(self) -> Mapping[str, Sequence[Member]]:
        """By the uid of the object behind them."""
        found: dict[str, list[Member]] = {}
        for one in self.members.values():
            found.setdefault(one.owner_uid, []).append(one)
        return found

    def misordered(self) -> frozenset[str]:
        """The queues whose order Kueue tells otherwise than the model has it, of those whom both know."""
        found = set()
        for queue, line in self._ours.items():
            ours, told = [one.key for one in line], self.orders.get(queue, ())
            known, listed = set(ours), set(told)
            if [key for key in told if key in known] != [key for key in ours if key in listed]:
                found.add(queue)
        return frozenset(found)

    @cached_property
    def _in_order(self) -> Sequence[Member]:
        """Those that hold nothing: priority first, then age, as Kueue tries them."""
        waiting = [one for one in self.members.values() if one.held_since is None]
        return sorted(waiting, key=lambda member: (-member.priority, member.created, member.key))

    @cached_property
    def _ours(self) -> Mapping[str, list[Member]]:
        found: dict[str, list[Member]] = {}
        for one in self._in_order:
            found.setdefault(one.queue, []).append(one)
        return found

    def _as_told(self, queue: str, line: list[Member]) -> list[Member]:
        places = {key: place for place, key in enumerate(self.orders.get(queue, ()))}
        whole = bool(places) and all(one.key in places for one in line)
        return sorted(line, key=lambda member: places[member.key]) if whole else line


@dataclass(frozen=True)
class Standing:
    """The engine at rest, and who is in it. `as_of` None: the mirror was never filled, and nothing can be said.

    `hasty`: keys that the model would admit although Kueue has not (yet): counted as disagreement when they stay.
    Shared by everybody who asks while nothing changes: whoever tries something out does so on a fork of the engine.
    """

    cluster_id: UUID
    engine: Engine
    lines: Lines
    specs: Mapping[str, ClusterQueueSpec]
    now: float
    as_of: datetime | None
    hasty: frozenset[str]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # ResourceFlavor -> its nodes' labels

    @property
    def members(self) -> Mapping[str, Member]:
        return self.lines.members

    @property
    def roots(self) -> Mapping[str, str]:
        return self.lines.roots

    def lendable(self, queue: str, flavor: str, resource: str) -> int:
        """What the queue owns of it, does not use, and lends."""
        cell = self.cell(queue, flavor, resource)
        if cell is None:
            return 0
        used = self.engine.usage(queue).get(flavor, {}).get(resource, (0, 0))[0]
        spare = max(0, cell.nominal - used)
        return spare if cell.lending_limit is None else min(spare, cell.lending_limit)

    def cell(self, queue: str, flavor: str, resource: str) -> QuotaCell | None:
        """The queue's own quota of a flavor's resource; None where it has none."""
        groups = self.specs[queue].resource_groups if queue in self.specs else ()
        found = (f.resources.get(resource) for group in groups for f in group.flavors if f.name == flavor)
        return next(found, None)

    def allowed(self, queue: str, flavor: str, resource: str) -> frozenset[str]:
        """The flavors a request pinned to one flavor may get: this one, and all of the groups without its resource."""
        groups = self.specs[queue].resource_groups if queue in self.specs else ()
        others = {f.name for group in groups if resource not in group.resources for f in group.flavors}
        return frozenset({flavor} | others)

    def without(self, keys: Iterable[str]) -> Standing:
        """As it would stand had these ended now."""
        engine = self.engine.fork(explains=False, instant_release=True)
        for key in keys:
            engine.finish(key, self.now)
        return replace(self, engine=engine)

    def waiting(self, queue: str) -> Sequence[Member]:
        """Who waits in a queue, in the order in which they are tried: Kueue's own where it has told of all of them."""
        return self.lines.by_queue.get(queue, ())

    def waiting_in_cohort(self, queue: str) -> Sequence[Member]:
        """Who waits in all queues whose quotas hang together with this one's: priority first, then age; those of one
        queue in that queue's order."""
        return self.lines.by_root.get(self.roots.get(queue, queue), ())

    def holders(self, queue: str, flavor: str, resource: str) -> list[Member]:
        """Who holds this flavor's resource in the queue's cohort, oldest first."""
        root = self.roots.get(queue, queue)
        held = (m for m in self.members.values() if m.held_since and self.roots.get(m.queue, m.queue) == root)
        found = [member for member in held if member.flavors.get(resource) == flavor]
        return sorted(found, key=lambda member: (member.held_since or member.created, member.key))
