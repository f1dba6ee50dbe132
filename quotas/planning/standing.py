"""The mirror of one cluster -> an engine that stands where Kueue stands now: from the database, in two queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from portal.admission import Admit, ClusterQueueSpec, Decision, Engine, Evict, QuotaCell, WorkloadSpec, translation
from portal.cluster import selectors as mirror
from portal.cluster.models import MirrorObject
from portal.kernel import clock
from quotas import observe

KINDS = ("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue")
Object = Mapping[str, Any]


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
class Standing:
    """The engine at rest, and who is in it. `as_of` None: the mirror was never filled, and nothing can be said.

    `hasty`: keys that the model would admit although Kueue has not (yet): counted as disagreement when they stay.
    """

    cluster_id: UUID
    engine: Engine
    members: Mapping[str, Member]
    specs: Mapping[str, ClusterQueueSpec]
    roots: Mapping[str, str]  # ClusterQueue -> the root of its cohort tree, or itself
    now: float
    as_of: datetime | None
    hasty: frozenset[str]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # ResourceFlavor -> its nodes' labels
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)  # ClusterQueue -> keys, as Kueue itself says

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

    def waiting(self, queue: str) -> list[Member]:
        """Who waits in a queue, in the order in which they are tried: Kueue's own where it has told of all of them."""
        return self._as_told(queue, _in_order(one for one in self.members.values() if one.queue == queue))

    def waiting_in_cohort(self, queue: str) -> list[Member]:
        """Who waits in all queues whose quotas hang together with this one's: priority first, then age; those of one
        queue in that queue's order."""
        root = self.roots.get(queue, queue)
        together = _in_order(one for one in self.members.values() if self.roots.get(one.queue, one.queue) == root)
        lines = {name: iter(self._as_told(name, line)) for name, line in _by_queue(together).items()}
        return [next(lines[one.queue]) for one in together]

    def misordered(self) -> frozenset[str]:
        """The queues whose order Kueue tells otherwise than the model has it, of those whom both know."""
        found = set()
        for queue, line in _by_queue(_in_order(self.members.values())).items():
            ours, told = [one.key for one in line], self.orders.get(queue, ())
            known, listed = set(ours), set(told)
            if [key for key in told if key in known] != [key for key in ours if key in listed]:
                found.add(queue)
        return frozenset(found)

    def _as_told(self, queue: str, line: list[Member]) -> list[Member]:
        places = {key: place for place, key in enumerate(self.orders.get(queue, ()))}
        whole = bool(places) and all(one.key in places for one in line)
        return sorted(line, key=lambda member: places[member.key]) if whole else line

    def holders(self, queue: str, flavor: str, resource: str) -> list[Member]:
        """Who holds this flavor's resource in the queue's cohort, oldest first."""
        root = self.roots.get(queue, queue)
        held = (m for m in self.members.values() if m.held_since and self.roots.get(m.queue, m.queue) == root)
        found = [member for member in held if member.flavors.get(resource) == flavor]
        return sorted(found, key=lambda member: (member.held_since or member.created, member.key))


def _in_order(members: Iterable[Member]) -> list[Member]:
    """Those that hold nothing: priority first, then age, as Kueue tries them."""
    waiting = [one for one in members if one.held_since is None]
    return sorted(waiting, key=lambda member: (-member.priority, member.created, member.key))


def _by_queue(members: Iterable[Member]) -> dict[str, list[Member]]:
    found: dict[str, list[Member]] = {}
    for one in members:
        found.setdefault(one.queue, []).append(one)
    return found


def standing(cluster_id: UUID) -> Standing:
    """Where the cluster's admission stands. Rows that cannot be read are left out."""
    rows = mirror.of_kinds(cluster_id, KINDS)
    by_kind: dict[str, list[Object]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append({"kind": row.kind, **row.data})
    now = clock.now()
    engine = Engine(explains=True, instant_release=True)
    specs = _queues(engine, by_kind, now.timestamp())
    members = _workloads(engine, mirror.unfinished(cluster_id), by_kind, now)
    settled = engine.settle(now.timestamp())
    return Standing(
        cluster_id=cluster_id,
        engine=engine,
        members=members,
        specs=specs,
        roots=_roots(specs.values(), by_kind["Cohort"]),
        now=settled.ended_at,
        as_of=mirror.as_of(cluster_id, "Workload"),
        hasty=_hasty([decision for _, decision in settled.decisions]),
        labels={
            o["metadata"]["name"]: (o.get("spec") or {}).get("nodeLabels") or {} for o in by_kind["ResourceFlavor"]
        },
        orders=mirror.pending_orders(cluster_id),
    )


def _hasty(decisions: Sequence[Decision]) -> frozenset[str]:
    """Whom the model admits; whoever has to wait for others to leave first is none."""
    makes_room = {one.by for one in decisions if isinstance(one, Evict)}
    return frozenset(one.key for one in decisions if isinstance(one, Admit) and one.key not in makes_room)


def _queues(engine: Engine, by_kind: Mapping[str, list[Object]], now: float) -> dict[str, ClusterQueueSpec]:
    for obj in by_kind["Cohort"]:
        engine.upsert_cohort(translation.cohort(obj), now)
    specs = [translation.cluster_queue(obj, stopped=not observe.active(obj)) for obj in by_kind["ClusterQueue"]]
    for spec in specs:
        engine.upsert_queue(spec, now)
    return {spec.name: spec for spec in specs}


def _roots(specs: Iterable[ClusterQueueSpec], objects: Iterable[Object]) -> dict[str, str]:
    parents = {o["metadata"]["name"]: str((o.get("spec") or {}).get("parentName") or "") for o in objects}
    found = {}
    for spec in specs:
        cohort, seen = spec.cohort or "", set[str]()
        while parents.get(cohort) and cohort not in seen:
            seen.add(cohort)
            cohort = parents[cohort]
        found[spec.name] = cohort or spec.name
    return found


def _workloads(
    engine: Engine,
    rows: Iterable[MirrorObject],
    by_kind: Mapping[str, list[Object]],
    now: datetime,
) -> dict[str, Member]:
    local = {(o["metadata"]["namespace"], o["metadata"]["name"]): o.get("spec") or {} for o in by_kind["LocalQueue"]}
    flavors = {o["metadata"]["name"]: o for o in by_kind["ResourceFlavor"]}
    groups = {o["metadata"]["name"]: _flavors_of(o, flavors) for o in by_kind["ClusterQueue"]}
    members: dict[str, Member] = {}
    for row in sorted(rows, key=lambda row: (mirror.queued_at(row), row.uid)):
        obj = {"kind": "Workload", **row.data}
        reserved = row.state == "reserved"
        admission = (obj.get("status") or {}).get("admission") or {}
        waits_in = local.get((row.namespace, str(obj["spec"].get("queueName") or "")), {})
        queue = str((admission if reserved else waits_in).get("clusterQueue") or "")
        if queue not in groups or not obj["spec"].get("podSets"):
            continue
        created = _moment(mirror.queued_at(row))
        spec = translation.workload(obj, queue, created.timestamp(), groups[queue])
        held_since = _since(obj) if reserved else None
        if held_since is not None:
            engine.restore_admitted(spec, translation.assignment(obj), held_since.timestamp())
        elif _is_tried(obj, waits_in, now):
            engine.submit(spec)
        members[spec.key] = _member(row, obj, spec, held_since)
    return members


def _is_tried(obj: Object, local_queue: Object, now: datetime) -> bool:
    """Not while its LocalQueue is on hold, nor until its back-off after an eviction is over."""
    again = ((obj.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return local_queue.get("stopPolicy", "None") == "None" and (not again or _moment(str(again)) <= now)


def _member(row: MirrorObject, obj: Object, spec: WorkloadSpec, held_since: datetime | None) -> Member:
    units: dict[str, int] = defaultdict(int)
    for podset in obj["spec"]["podSets"]:
        for name, amount in translation.requests_of(podset).items():
            units[name] += amount * int(podset.get("count", 1))
    flavors: dict[str, str] = {}
    if held_since is not None:
        for held in translation.assignment(obj):
            flavors |= held.flavors
    labels = obj["metadata"].get("labels") or {}
    reserved = observe.condition(obj, "QuotaReserved") or {}
    return Member(
        key=spec.key,
        uid=row.uid,
        owner_uid=row.job_uid or row.owner_uid,
        queue=spec.queue,
        tenant=str(labels.get("turno.dev/tenant") or ""),
        workload_id=row.workload_id,
        priority=int(obj["spec"].get("priority") or 0),
        created=_moment(mirror.queued_at(row)),
        held_since=held_since,
        units=dict(units),
        flavors=flavors,
        said=str(reserved.get("message") or "") if reserved.get("status") == "False" else "",
        limit_s=float(obj["spec"].get("maximumExecutionTimeSeconds") or 0) or None,
        may_use=frozenset[str]().union(*(podset.flavors_allowed or () for podset in spec.podsets)),
    )


def _flavors_of(queue: Object, flavors: Mapping[str, Object]) -> dict[str, list[Object]]:
    """For each resource of the queue, the ResourceFlavors of its group."""
    found: dict[str, list[Object]] = {}
    for group in (queue.get("spec") or {}).get("resourceGroups") or []:
        mine = [flavors[each["name"]] for each in group["flavors"] if each["name"] in flavors]
        found |= dict.fromkeys(group["coveredResources"], mine)
    return found


def _since(obj: Object) -> datetime | None:
    reserved = observe.condition(obj, "QuotaReserved") or {}
    return _moment(str(reserved["lastTransitionTime"])) if reserved.get("lastTransitionTime") else None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
