"""Writing the mirror: what the cluster last said, row by row, in batches; and waking whoever must know.

Order never depends on arrival: within one uid the higher resourceVersion wins, a uid that was deleted never comes back,
and another uid under the same name replaces the row when its resourceVersion is higher. What was written is told by the
row; what was seen and changed nothing is remembered in this process only (rows are written only when they change).
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from portal.cluster import content, names
from portal.cluster.models import Cluster, MirrorObject, MirrorStream, PendingOrder
from portal.cluster.port import JsonObject
from portal.kernel import clock, ids, work
from portal.kernel.transaction import transaction

WORKLOAD = "workload"
_REMEMBERED_DELETIONS = 20_000
_CHUNK = 500
_RESOLVED = ("Workload", "Event")
_WRITTEN = (
    "uid",
    "resource_version",
    "ours",
    "workload_id",
    "run",
    "owner_uid",
    "job_uid",
    "content_hash",
    "state",
    "data",
    "seen_at",
)

Key = tuple[str, str, str]


@dataclass
class Entry:
    """What one event or list item says. `gone`: it was deleted, or left the selector. `wakes`: the row that a tenant or
    quota object keeps true, as (work kind, id)."""

    kind: str
    namespace: str
    name: str
    uid: str
    version: int
    gone: bool
    ours: bool
    workload_id: UUID | None
    run: int | None
    owner_uid: str
    job_uid: str
    content_hash: str
    state: str
    data: JsonObject
    wakes: tuple[str, UUID] | None

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name


def entry(obj: JsonObject, instance: str, *, gone: bool = False) -> Entry:
    """Reads one object; labels that are not what they should be count as absent."""
    metadata = obj.get("metadata") or {}
    labels = metadata.get("labels") or {}
    ours = names.is_ours(labels, instance)
    run = str(labels.get(names.RUN, ""))
    return Entry(
        kind=str(obj.get("kind", "")),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        version=number(metadata.get("resourceVersion")),
        gone=gone,
        ours=ours,
        workload_id=_uuid(labels.get(names.WORKLOAD)) if ours else None,
        run=int(run) if ours and run.isascii() and run.isdigit() and len(run) < 9 else None,
        owner_uid=content.owner_uid(obj),
        job_uid=content.job_uid(obj),
        content_hash=content.content_hash(obj) if ours else "",
        state=content.state(obj),
        data=content.trim(obj),
        wakes=_row_to_wake(labels.get(names.OBJECT)) if ours else None,
    )


def number(version: object) -> int:
    """A resourceVersion as a number; 0 where it is none."""
    text = str(version or "")
    return int(text) if text.isascii() and text.isdigit() else 0


@dataclass
class _Batch:
    """What one transaction will do."""

    upserts: dict[Key, Entry] = field(default_factory=dict)
    deletes: list[MirrorObject] = field(default_factory=list)
    created: list[Entry] = field(default_factory=list)
    wakes: set[tuple[str, UUID]] = field(default_factory=set)


class Mirror:
    """The mirror of one cluster, as one leading watcher writes it. `fence` is the first thing in every transaction and
    raises where somebody else leads."""

    def __init__(self, cluster: Cluster, fence: Callable[[], None]) -> None:
        self.cluster = cluster
        self._fence = fence
        self._newest: dict[str, int] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self._distrusted: set[str] = set()

    def resume_from(self, kind: str) -> str:
        """The resourceVersion to go on from; empty where the kind must be listed."""
        stream = MirrorStream.objects.filter(cluster=self.cluster, kind=kind).exclude(listed_at=None).first()
        return stream.resource_version if stream else ""

    def distrust(self, kind: str) -> None:
        """The server went back in time: until the next whole list, what it says counts whatever its version."""
        self._distrusted.add(kind)

    def write(self, entries: Iterable[Entry], heard: Mapping[str, str]) -> None:
        """One transaction: the entries' rows, and for each kind heard of how far its stream is."""
        winners = self._winners(entries)
        with transaction():
            self._fence()
            batch = self._compare(winners)
            self._resolve(batch)
            self._store(batch)
            for kind, version in heard.items():
                stream = MirrorStream.objects.filter(cluster=self.cluster, kind=kind).exclude(listed_at=None)
                stream.update(resource_version=version, synced_at=clock.now())
            _wake(batch.wakes)
        for each in winners.values():
            self._remember(each)

    def listed(self, kind: str, keys: set[tuple[str, str]], version: str) -> None:
        """A whole list was written: what it does not hold is gone. `keys`: (namespace, name)."""
        with transaction():
            self._fence()
            rows = MirrorObject.objects.filter(cluster=self.cluster, kind=kind)
            places = rows.values_list("pk", "namespace", "name").iterator()
            gone = [pk for pk, namespace, name in places if (namespace, name) not in keys]
            batch = _Batch()
            for start in range(0, len(gone), _CHUNK):
                batch.deletes += list(rows.filter(pk__in=gone[start : start + _CHUNK]))
            for row in batch.deletes:
                batch.wakes |= _wakes_of_row(row)
            self._store(batch)
            now = clock.now()
            values = {"resource_version": version, "synced_at": now, "listed_at": now}
            MirrorStream.objects.update_or_create(cluster=self.cluster, kind=kind, defaults=values)
            _wake(batch.wakes)
        self._distrusted.discard(kind)

    def queues_of(self, entries: Iterable[Entry]) -> set[str]:
        """The ClusterQueues in which these Kueue Workloads wait or waited. One query, none without Workloads."""
        places = {(one.namespace, content.queue_name(one.data)) for one in entries if one.kind == "Workload"}
        if not places:
            return set()
        rows = MirrorObject.objects.filter(
            cluster=self.cluster, kind="LocalQueue", namespace__in={namespace for namespace, _ in places}
        )
        found = {(row.namespace, row.name): str((row.data.get("spec") or {}).get("clusterQueue") or "") for row in rows}
        return {queue for place in places if (queue := found.get(place))}

    def ordered(self, queue: str, keys: Sequence[str] | None) -> None:
        """What waits in a queue, in Kueue's own order; None: it is not told, of no queue where `queue` is empty."""
        with transaction():
            self._fence()
            rows = PendingOrder.objects.filter(cluster=self.cluster)
            mine = rows.filter(queue=queue) if queue else rows
            if keys is None:
                if mine.delete()[0]:
                    self._changed({"Workload"})
                return
            if mine.values_list("keys", flat=True).first() != list(keys):
                self._changed({"Workload"})
            values = {"keys": list(keys), "seen_at": clock.now()}
            PendingOrder.objects.update_or_create(cluster=self.cluster, queue=queue, defaults=values)

    def _changed(self, kinds: Collection[str]) -> None:
        """Within the transaction: what is mirrored of these kinds is not what it was."""
        if kinds:
            MirrorStream.objects.filter(cluster=self.cluster, kind__in=kinds).update(content=ids.uuid7())

    def _winners(self, entries: Iterable[Entry]) -> dict[Key, Entry]:
        """The newest entry of each key, without what is older than something seen before."""
        winners: dict[Key, Entry] = {}
        deleted_here: set[str] = set()
        for each in entries:
            if not each.uid or (each.uid in deleted_here and not each.gone):
                continue
            if each.kind not in self._distrusted and self._is_old(each):
                continue
            if each.gone:
                deleted_here.add(each.uid)
            held = winners.get(each.key)
            if held is None or self._replaces(each, held.uid, held.version):
                winners[each.key] = each
        return winners

    def _is_old(self, each: Entry) -> bool:
        return each.uid in self._deleted or each.version < self._newest.get(each.uid, 0)

    def _replaces(self, new: Entry, uid: str, version: int) -> bool:
        if new.kind in self._distrusted:
            return True
        if new.gone and new.uid != uid:
            return False  # another object has the name by now
        return new.version >= version if new.uid == uid else new.version > version

    def _compare(self, winners: Mapping[Key, Entry]) -> _Batch:
        batch = _Batch()
        rows = self._rows(winners)
        for key, each in winners.items():
            row = rows.get(key)
            if row is None:
                if not each.gone:
                    batch.upserts[key] = each
                    batch.created.append(each)
                    batch.wakes |= _wakes_of(each)
                continue
            if not self._replaces(each, row.uid, number(row.resource_version)):
                continue
            if each.gone:
                batch.deletes.append(row)
                batch.wakes |= _wakes_of_row(row)
                continue
            if each.uid == row.uid and each.workload_id is None:
                each.workload_id = row.workload_id
            if _differs(each, row):
                batch.upserts[key] = each
                batch.wakes |= _wakes_of_change(each, row)
                if each.uid != row.uid:
                    batch.created.append(each)
        return batch

    def _rows(self, keys: Iterable[Key]) -> dict[Key, MirrorObject]:
        wanted: dict[str, set[str]] = defaultdict(set)
        for kind, _, name in keys:
            wanted[kind].add(name)
        found: dict[Key, MirrorObject] = {}
        for kind, of_kind in wanted.items():
            for row in MirrorObject.objects.filter(cluster=self.cluster, kind=kind, name__in=of_kind):
                found[row.kind, row.namespace, row.name] = row
        return found

    def _resolve(self, batch: _Batch) -> None:
        """Kueue Workloads and Events carry no label of ours: their workload is their owner's."""
        open_ones = [e for e in batch.upserts.values() if e.kind in _RESOLVED and e.workload_id is None]
        known: dict[str, UUID | None] = {
            e.uid: e.workload_id for e in batch.upserts.values() if e.workload_id is not None
        }
        uids = {uid for e in open_ones for uid in (e.owner_uid, e.job_uid) if uid and uid not in known}
        if uids:
            rows = MirrorObject.objects.filter(cluster=self.cluster, uid__in=uids).exclude(workload_id=None)
            known.update(rows.values_list("uid", "workload_id"))
        for each in sorted(open_ones, key=lambda e: e.kind == "Event"):  # events about Workloads come after those
            each.workload_id = known.get(each.job_uid) or known.get(each.owner_uid)
            if each.workload_id is not None:
                known[each.uid] = each.workload_id
                batch.wakes.add((WORKLOAD, each.workload_id))

    def _store(self, batch: _Batch) -> None:
        now = clock.now()
        if batch.deletes:
            MirrorObject.objects.filter(pk__in=[row.pk for row in batch.deletes]).delete()
        if batch.upserts:
            MirrorObject.objects.bulk_create(
                [self._row(each, now) for each in batch.upserts.values()],
                update_conflicts=True,
                unique_fields=["cluster", "kind", "namespace", "name"],
                update_fields=list(_WRITTEN),
            )
        adopted = self._adopt(batch)
        self._changed({row.kind for row in batch.deletes} | {each.kind for each in batch.upserts.values()} | adopted)

    def _row(self, each: Entry, now: datetime) -> MirrorObject:
        return MirrorObject(
            cluster=self.cluster,
            kind=each.kind,
            namespace=each.namespace,
            name=each.name,
            uid=each.uid,
            resource_version=str(each.version),
            ours=each.ours,
            workload_id=each.workload_id,
            run=each.run,
            owner_uid=each.owner_uid,
            job_uid=each.job_uid,
            content_hash=each.content_hash,
            state=each.state,
            data=each.data,
            seen_at=now,
        )

    def _adopt(self, batch: _Batch) -> set[str]:
        """An owner that arrives after what it owns: the rows that waited for it learn their workload. Their kinds."""
        kinds: set[str] = set()
        owners: dict[str, UUID | None] = {e.uid: e.workload_id for e in batch.created if e.workload_id is not None}
        while owners:
            theirs = Q(owner_uid__in=owners) | Q(job_uid__in=owners)
            waiting = MirrorObject.objects.filter(theirs, cluster=self.cluster, kind__in=_RESOLVED, workload_id=None)
            rows = list(waiting.only("pk", "kind", "uid", "owner_uid", "job_uid", "workload_id"))
            for row in rows:
                row.workload_id = owners.get(row.job_uid) or owners.get(row.owner_uid)
            MirrorObject.objects.bulk_update(rows, ["workload_id"])
            owners = {row.uid: row.workload_id for row in rows}
            kinds |= {row.kind for row in rows}
        return kinds

    def _remember(self, each: Entry) -> None:
        if each.gone:
            self._newest.pop(each.uid, None)
            self._deleted[each.uid] = None
            while len(self._deleted) > _REMEMBERED_DELETIONS:
                self._deleted.popitem(last=False)
        else:
            self._deleted.pop(each.uid, None)
            self._newest[each.uid] = each.version


def _differs(each: Entry, row: MirrorObject) -> bool:
    return (each.uid, each.content_hash, each.state, each.workload_id, each.data) != (
        row.uid,
        row.content_hash,
        row.state,
        row.workload_id,
        row.data,
    )


def _wakes_of(each: Entry) -> set[tuple[str, UUID]]:
    found = {each.wakes} if each.wakes else set()
    return found | ({(WORKLOAD, each.workload_id)} if each.workload_id is not None else set())


def _wakes_of_row(row: MirrorObject) -> set[tuple[str, UUID]]:
    """Of something that is gone. An Event that expires is no news."""
    labels = (row.data.get("metadata") or {}).get("labels") or {}
    mine = _row_to_wake(labels.get(names.OBJECT)) if row.ours else None
    found = {mine} if mine else set()
    return found | ({(WORKLOAD, row.workload_id)} if row.workload_id is not None and row.kind != "Event" else set())


def _wakes_of_change(each: Entry, row: MirrorObject) -> set[tuple[str, UUID]]:
    """A queue's counters change with every workload; its row only cares for what it says and how it fares."""
    found = _wakes_of(each)
    if row.workload_id is not None:
        found.add((WORKLOAD, row.workload_id))
    if (
        each.wakes
        and each.uid == row.uid
        and each.content_hash == row.content_hash
        and _fares(each.data) == _fares(row.data)
    ):
        found.discard(each.wakes)
    return found


def _fares(data: JsonObject) -> object:
    conditions = (data.get("status") or {}).get("conditions") or []
    deleted = (data.get("metadata") or {}).get("deletionTimestamp")
    return deleted, [(c.get("type"), c.get("status"), c.get("reason")) for c in conditions]


def _wake(wakes: set[tuple[str, UUID]]) -> None:
    by_kind: dict[str, set[UUID]] = defaultdict(set)
    for kind, object_id in wakes:
        by_kind[kind].add(object_id)
    for kind, object_ids in sorted(by_kind.items()):
        work.wake_many(kind, object_ids)


def _row_to_wake(label: object) -> tuple[str, UUID] | None:
    """`<work kind>.<row uuid>`."""
    kind, _, rest = str(label or "").partition(".")
    object_id = _uuid(rest)
    return (kind, object_id) if kind and object_id is not None else None


def _uuid(text: object) -> UUID | None:
    with suppress(ValueError):
        return UUID(str(text))
    return None
