"""A whole Turno in one thread: the simulated cluster behind its real API, the mirror filled from lists, due work done.

The clock stands still until `run` moves it; the cluster's controllers see the same clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from jobs import services, tasks
from jobs.models import Run, Workload
from portal.cluster.factory import gateway as build
from portal.cluster.mirror import Entry, Mirror, entry
from portal.cluster.models import Cluster, MirrorStream
from portal.cluster.port import ClusterGateway, JsonObject, ObjectRef
from portal.cluster.simulated.control import Request
from portal.kernel import work
from portal.kernel.actors import Actor, Person
from portal.kernel.models import FeedEntry, Work
from portal.kernel.transaction import transaction
from quotas import tasks as quota_tasks
from quotas.models import Cohort, Flavor, PriorityClass, Queue
from tenants import tasks as tenant_tasks
from tenants.models import TenantSpace
from tests.cluster.loopback import Loopback
from tests.conftest import FrozenClock
from tests.factories import jobs

KINDS = (
    "Node",
    "Namespace",
    "Pod",
    "Service",
    "PersistentVolumeClaim",
    "StatefulSet",
    "Deployment",
    "Job",
    "NetworkPolicy",
    "HTTPRoute",
    "ResourceFlavor",
    "Cohort",
    "ClusterQueue",
    "LocalQueue",
    "Workload",
    "Event",
)
TASKS: dict[str, Any] = {
    "workload": tasks.reconcile_workload,
    "tenantspace": tenant_tasks.reconcile_space,
    "flavor": quota_tasks.reconcile_flavor,
    "cohort": quota_tasks.reconcile_cohort,
    "priority": quota_tasks.reconcile_priority,
    "queue": quota_tasks.reconcile_queue,
}
ROUNDS = 30


@dataclass
class Stage:
    """`settle` lets everything happen that happens by itself now; `run` lets time pass."""

    cluster: Cluster
    engine: Loopback
    clock: FrozenClock
    gateway: ClusterGateway
    mirror: Mirror
    blind: bool = False
    seen: dict[str, bytes] = field(default_factory=dict)
    keys: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    passes: list[str] = field(default_factory=list)

    @classmethod
    def build(cls, cluster: Cluster, engine: Loopback, clock: FrozenClock) -> Stage:
        return cls(cluster, engine, clock, build(cluster), Mirror(cluster, lambda: None))

    def furnish(self) -> None:
        """Everything that the rows of teams and quotas become."""
        with transaction():
            for kind, model in (
                ("flavor", Flavor),
                ("cohort", Cohort),
                ("priority", PriorityClass),
                ("queue", Queue),
                ("tenantspace", TenantSpace),
            ):
                for pk in model.objects.values_list("pk", flat=True):
                    work.wake(kind, pk)
        self.settle()

    def settle(self) -> None:
        """Cluster, mirror and work in turns until nothing is left to do at this moment."""
        for _ in range(ROUNDS):
            self.tick()
            if not self.blind:
                self.look()
            if not self.work():
                return
        raise AssertionError(f"it does not come to rest: {self.passes[-10:]}")

    def run(self, seconds: float, *, step: float = 1.0) -> None:
        """Time passes in steps; everything that becomes due happens."""
        left = seconds
        while left > 0:
            self.clock.move(seconds=min(step, left))
            left -= step
            self.settle()

    def tick(self) -> None:
        self.engine.call(self.engine.cluster.manager.tick)

    def look(self) -> None:
        """The mirror is as fresh lists of every kind would make it (read from the store: nobody else asks for them)."""
        store = self.engine.store
        said = self.engine.call(lambda: {kind: orjson.dumps(list(store.scan(kind))) for kind in KINDS})
        changed = {kind: text for kind, text in said.items() if self.seen.get(kind) != text}
        self.seen |= changed
        found = {kind: self._entries(kind, text) for kind, text in changed.items()}
        if found:
            self.mirror.write([one for kind in found.values() for one in kind], {})
        for kind, entries in found.items():
            keys = {(one.namespace, one.name) for one in entries}
            if kind not in self.keys or self.keys[kind] - keys:  # as by a watch: a list only where it tells something
                self.mirror.listed(kind, keys, "1")
            self.keys[kind] = keys
        now = self.clock.at
        MirrorStream.objects.filter(cluster=self.cluster, kind__in=KINDS).update(synced_at=now, listed_at=now)

    def _entries(self, kind: str, text: bytes) -> list[Entry]:
        found = [entry(one, self.cluster.instance) for one in orjson.loads(text)]
        return [one for one in found if one.ours or kind in ("Node", "Workload", "Event", "LocalQueue")]

    def forget(self) -> None:
        """What has been seen so far: the next look lists everything, as a watcher does that has just started."""
        self.seen.clear()
        self.keys.clear()
        self.mirror = Mirror(self.cluster, lambda: None)

    def work(self) -> int:
        """One pass over everything that is due. Returns how many passes ran."""
        Work.objects.update(queued_at=None)
        due = list(work.due())
        for row in due:
            self.passes.append(row.kind)
            TASKS[row.kind](str(row.object_id))
        return len(due)

    def control(self, method: str, path: str, body: JsonObject | None = None) -> Any:
        """The cluster's control endpoint."""
        request = Request(method, path, {}, {}, orjson.dumps(body or {}))
        answer = self.engine.call(lambda: self.engine.cluster.control.answer(request))
        assert answer.status < 300, answer
        return answer.document

    def submit(self, actor: Actor, kind: str = "training", **changes: Any) -> Workload:
        row = jobs.submitted(actor, kind, **changes)
        self.settle()
        return self.now(row)

    def now(self, row: Workload) -> Workload:
        """The row as it is now."""
        return Workload.objects.select_related("tenant", "cluster", "flavor").get(pk=row.pk)

    def reason(self, row: Workload) -> tuple[str, str]:
        found = self.now(row)
        return found.state, found.reason

    def stop(self, actor: Person, row: Workload) -> Workload:
        services.stop(actor, workload_id=row.pk)
        self.settle()
        return self.now(row)

    def runs(self, row: Workload) -> list[tuple[int, str, int | None]]:
        rows = Run.objects.filter(workload=row).order_by("number")
        return list(rows.values_list("number", "outcome", "exit_code"))

    def objects(self, kind: str, namespace: str = "turno-data") -> list[JsonObject]:
        """What is on the cluster, ours or not."""
        return self.gateway.list(kind, namespace=namespace).items

    def names(self, kind: str, namespace: str = "turno-data") -> list[str]:
        return sorted(one["metadata"]["name"] for one in self.objects(kind, namespace))

    def kill(self, kind: str, name: str, namespace: str = "turno-data") -> None:
        """Somebody deletes an object by hand."""
        ref = ObjectRef(kind, name, namespace)
        found = self.gateway.get(ref)
        assert found is not None
        self.gateway.delete(ref, uid=found["metadata"]["uid"])

    def told(self, row: Workload) -> list[str]:
        """The types of the workload's own history, in order."""
        rows = FeedEntry.objects.filter(object_id=row.pk, source="turno").exclude(type="changed").order_by("seq")
        return list(rows.values_list("type", flat=True))
