"""The mirror of one cluster -> an engine that stands where Kueue stands now: from the database alone.

What was made is kept in this process for as long as the mirror is the same: its rows carry a mark that every change of
them moves in its own transaction (`MirrorStream.content`), so that an answer costs one query where nothing has changed,
and is never older than the mirror. Where something has, only the rows that changed are read again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any
from uuid import UUID

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    Decision,
    Engine,
    Evict,
    PodSetAssignment,
    WorkloadSpec,
    translation,
)
from portal.cluster import selectors as mirror
from portal.cluster.models import MirrorObject
from portal.kernel import clock
from quotas import observe
from quotas.planning.standing import Lines, Member, Standing

FURNITURE = ("ClusterQueue", "Cohort", "ResourceFlavor", "LocalQueue")
KINDS = (*FURNITURE, "Workload")
# Made anew now and then in any case: an engine remembers something of every question.
KEPT = timedelta(hours=1)

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Places:
    """What a Kueue Workload's row is read against: LocalQueues' specs by namespace and name; by ClusterQueue and
    resource, the ResourceFlavors of the resource's group."""

    local: Mapping[tuple[str, str], Object] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, list[Object]]] = field(default_factory=dict)

    @classmethod
    def of(cls, by_kind: Mapping[str, list[Object]]) -> Places:
        local = {
            (o["metadata"]["namespace"], o["metadata"]["name"]): o.get("spec") or {} for o in by_kind["LocalQueue"]
        }
        flavors = {o["metadata"]["name"]: _read_of(o) for o in by_kind["ResourceFlavor"]}
        return cls(local, {o["metadata"]["name"]: _flavors_of(o, flavors) for o in by_kind["ClusterQueue"]})


def _read_of(flavor: Object) -> Object:
    """What of a ResourceFlavor decides who may use it."""
    return {"metadata": {"name": flavor["metadata"]["name"]}, "spec": flavor.get("spec") or {}}


def _flavors_of(queue: Object, flavors: Mapping[str, Object]) -> dict[str, list[Object]]:
    """For each resource of the queue, the ResourceFlavors of its group."""
    found: dict[str, list[Object]] = {}
    for group in (queue.get("spec") or {}).get("resourceGroups") or []:
        mine = [flavors[each["name"]] for each in group["flavors"] if each["name"] in flavors]
        found |= dict.fromkeys(group["coveredResources"], mine)
    return found


@dataclass(frozen=True)
class Reading:
    """One Kueue Workload as the model takes it. `again`: when its back-off after an eviction is over; `held`: what it
    holds; `on_hold`: its LocalQueue lets nobody be tried."""

    mark: mirror.Mark
    queued: tuple[str, str]  # when, and its uid: the order of queueing
    spec: WorkloadSpec | None = None  # None: of no queue that is known, or without pods
    member: Member | None = None
    held: tuple[PodSetAssignment, ...] = ()
    again: datetime | None = None
    on_hold: bool = False


class Memory:
    """What is kept of one cluster between answers."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.marks: object = None
        self.since = self.until = datetime.min.replace(tzinfo=UTC)  # between these what was made holds
        self.made: Standing | None = None
        self.places = Places()
        self.readings: dict[UUID, Reading] = {}

    def standing(self, cluster_id: UUID) -> Standing:
        """As it stands now."""
        content, now = mirror.content(cluster_id, KINDS), clock.now()
        with self.lock:
            made = self.made
            if made is None or self.marks != content.marks or not self.since <= now < self.until:
                made = self._build(cluster_id, now)
                self.made, self.marks, self.since = made, content.marks, now
        # Moments that pass by themselves are not kept.
        return replace(made, as_of=content.as_of.get("Workload"), now=max(made.now, now.timestamp()))

    def _build(self, cluster_id: UUID, now: datetime) -> Standing:
        by_kind: dict[str, list[Object]] = defaultdict(list)
        for row in mirror.of_kinds(cluster_id, FURNITURE):
            by_kind[row.kind].append({"kind": row.kind, **row.data})
        engine = Engine(explains=False, instant_release=True)
        specs = _queues(engine, by_kind, now.timestamp())
        readings = self._read(cluster_id, Places.of(by_kind))
        members = _workloads(engine, readings, now)
        self.until = min([now + KEPT, *(one.again for one in readings if one.again and one.again > now)])
        settled = engine.settle(now.timestamp())
        return Standing(
            cluster_id=cluster_id,
            engine=engine,
            lines=Lines(members, _roots(specs.values(), by_kind["Cohort"]), mirror.pending_orders(cluster_id)),
            specs=specs,
            now=settled.ended_at,
            as_of=None,
            hasty=_hasty([decision for _, decision in settled.decisions]),
            labels={
                o["metadata"]["name"]: (o.get("spec") or {}).get("nodeLabels") or {} for o in by_kind["ResourceFlavor"]
            },
        )

    def _read(self, cluster_id: UUID, places: Places) -> list[Reading]:
        """Everybody, in the order of queueing. Rows that have not changed since are not read again."""
        if places != self.places:
            self.places, self.readings = places, {}
        known = {pk: one.mark for pk, one in self.readings.items()}
        rows, present = mirror.unfinished(cluster_id, known)
        self.readings = {pk: one for pk, one in self.readings.items() if pk in present}
        for row in rows:
            self.readings[row.pk] = _reading(row, places)
        return sorted(self.readings.values(), key=lambda one: one.queued)


_memories: dict[UUID, Memory] = {}


def standing(cluster_id: UUID) -> Standing:
    """Where the cluster's admission stands. Rows that cannot be read are left out. One query where nothing has changed
    since the last answer of this process; a few otherwise."""
    return _memories.setdefault(cluster_id, Memory()).standing(cluster_id)


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


def _workloads(engine: Engine, readings: Iterable[Reading], now: datetime) -> dict[str, Member]:
    members: dict[str, Member] = {}
    for one in readings:
        if one.spec is None or one.member is None:
            continue
        if one.member.held_since is not None:
            engine.restore_admitted(one.spec, one.held, one.member.held_since.timestamp())
        elif not one.on_hold and (one.again is None or one.again <= now):
            engine.submit(one.spec)
        members[one.spec.key] = one.member
    return members


def _reading(row: MirrorObject, places: Places) -> Reading:
    obj = {"kind": "Workload", **row.data}
    status = obj.get("status") or {}
    queued, mark = mirror.queued_at(row), mirror.mark_of(row)
    reserved = row.state == "reserved"
    waits_in = places.local.get((row.namespace, str(obj["spec"].get("queueName") or "")), {})
    queue = str(((status.get("admission") or {}) if reserved else waits_in).get("clusterQueue") or "")
    if queue not in places.groups or not obj["spec"].get("podSets"):
        return Reading(mark, (queued, row.uid))
    spec = translation.workload(obj, queue, _moment(queued).timestamp(), places.groups[queue])
    held_since = _since(obj) if reserved else None
    held = translation.assignment(obj) if held_since is not None else ()
    again = (status.get("requeueState") or {}).get("requeueAt")
    return Reading(
        mark=mark,
        queued=(queued, row.uid),
        spec=spec,
        member=_member(row, obj, spec, held_since, held),
        held=held,
        again=_moment(str(again)) if again and held_since is None else None,
        on_hold=waits_in.get("stopPolicy", "None") != "None",
    )


def _member(
    row: MirrorObject, obj: Object, spec: WorkloadSpec, held_since: datetime | None, held: Iterable[PodSetAssignment]
) -> Member:
    units: dict[str, int] = defaultdict(int)
    for podset in spec.podsets:
        for name, amount in podset.requests.items():
            units[name] += amount * podset.count
    flavors: dict[str, str] = {}
    for part in held:
        flavors |= part.flavors
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


def _since(obj: Object) -> datetime | None:
    reserved = observe.condition(obj, "QuotaReserved") or {}
    return _moment(str(reserved["lastTransitionTime"])) if reserved.get("lastTransitionTime") else None


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
