"""Kueue's memory: the admission engine, and which Workload stands where. All of it can be rebuilt from the store."""

from __future__ import annotations

from datetime import datetime, timedelta

from portal.admission import Engine, WorkloadSpec
from portal.admission import translation as specs
from portal.admission.quantities import render
from portal.cluster.simulated.controllers.conditions import is_true
from portal.cluster.simulated.controllers.kueue import unready
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, parse_timestamp
from portal.cluster.simulated.store import Change

PENDING, RESERVING, ADMITTED = "pending", "reserving", "admitted"


class Books:
    """One Kueue's caches. `engine` runs on nominal seconds, so that its requeue batch follows the speed too; `known`
    holds what it was told of each waiting Workload."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._nominal = world.now().timestamp()
        self._read_at = world.now()
        self._places: dict[str, tuple[tuple[str, str], frozenset[str]]] = {}
        self._counts: dict[tuple[str, str], dict[str, int]] = {}
        self._holders: dict[tuple[str, str], set[str]] = {}
        self.engine = Engine(text=render)
        self.known: dict[str, WorkloadSpec] = {}
        world.store.subscribe(self._hear)
        self.rebuild()

    def rebuild(self) -> None:
        """Read everything anew, as Kueue does when it starts."""
        store, now = self._world.store, self.time()
        self.engine = Engine(text=render)
        self._places, self._counts, self._holders, self.known = {}, {}, {}, {}
        for obj in store.scan("Cohort"):
            self.engine.upsert_cohort(specs.cohort(obj), now)
        for obj in store.scan("ClusterQueue"):
            self.engine.upsert_queue(specs.cluster_queue(obj, stopped=bool(self.missing_flavors(obj))), now)
        for obj in store.scan("Workload"):
            self._place(obj)
            if is_true(obj.get("status") or {}, "QuotaReserved") and not is_true(obj["status"], "Finished"):
                self._restore(obj)

    def _restore(self, obj: Obj) -> None:
        queue = obj["status"]["admission"]["clusterQueue"]
        if self._world.store.get("ClusterQueue", None, queue) is None:
            return
        told = next(one for one in obj["status"]["conditions"] if one["type"] == "QuotaReserved")
        reserved_at = parse_timestamp(told["lastTransitionTime"]).timestamp()
        self.engine.restore_admitted(self.spec(obj, queue), specs.assignment(obj), reserved_at)
        if is_true(obj["status"], "Evicted"):
            self.engine.evict(specs.key_of(obj), "Restored")

    # Time

    def time(self) -> float:
        """Nominal seconds, never going back."""
        now = self._world.now()
        self._nominal += (now - self._read_at).total_seconds() * self._world.settings.speed
        self._read_at = now
        return self._nominal

    def restart_clock(self) -> None:
        """The cluster's clock has been moved: go on from here."""
        self._read_at = self._world.now()

    def next_due(self) -> datetime | None:
        due = self.engine.next_due()
        if due is None:
            return None
        left = max(due - self.time(), 0.0) / self._world.settings.speed
        return self._world.now() + timedelta(seconds=left, microseconds=1)

    # Looking things up

    def queue_for(self, obj: Obj) -> Obj | None:
        """The ClusterQueue behind a Workload's LocalQueue."""
        local = self._world.store.get("LocalQueue", obj["metadata"]["namespace"], obj["spec"].get("queueName") or "")
        if local is None:
            return None
        return self._world.store.get("ClusterQueue", None, local["spec"]["clusterQueue"])

    def missing_flavors(self, queue: Obj) -> list[str]:
        """Names of flavors that the queue refers to and that do not exist."""
        return sorted(
            {name for name in flavor_names(queue) if self._world.store.get("ResourceFlavor", None, name) is None}
        )

    def spec(self, obj: Obj, queue: str) -> WorkloadSpec:
        """A Workload for the engine. Age is to the microsecond while this process has seen it, else to the second."""
        created = self._world.moment(obj["metadata"]["uid"], "created", obj["metadata"]["creationTimestamp"])
        created = unready.queued_at(obj, created)
        found = self._world.store.get("ClusterQueue", None, queue)
        flavors: dict[str, list[Obj]] = {}
        for group in (found or {"spec": {}})["spec"].get("resourceGroups") or []:
            known = [self._world.store.get("ResourceFlavor", None, flavor["name"]) for flavor in group["flavors"]]
            shared = [flavor for flavor in known if flavor is not None]
            flavors.update(dict.fromkeys(group["coveredResources"], shared))
        return specs.workload(obj, queue, created.timestamp(), flavors)

    def counts(self, namespace: str, local_queue: str) -> dict[str, int]:
        """How many Workloads of a LocalQueue are pending, reserving, admitted."""
        return {PENDING: 0, RESERVING: 0, ADMITTED: 0, **self._counts.get((namespace, local_queue), {})}

    def workloads_of(self, namespace: str, local_queue: str) -> list[str]:
        """Keys of the Workloads of a LocalQueue that hold quota."""
        return sorted(self._holders.get((namespace, local_queue), ()))

    def _hear(self, change: Change) -> None:
        if change.kind != "Workload":
            return
        if change.type == "DELETED":
            self._count(specs.key_of(change.object), None)
            self.known.pop(specs.key_of(change.object), None)
        else:
            self._place(change.object)

    def _place(self, obj: Obj) -> None:
        status = obj.get("status") or {}
        states: set[str] = set()
        if is_true(status, "Finished"):
            pass
        elif is_true(status, "QuotaReserved"):
            states.add(RESERVING)
            if is_true(status, "Admitted"):
                states.add(ADMITTED)
        elif obj["spec"].get("active", True):
            states.add(PENDING)
        where = (obj["metadata"]["namespace"], obj["spec"].get("queueName") or "")
        self._count(specs.key_of(obj), (where, frozenset(states)))

    def _count(self, key: str, place: tuple[tuple[str, str], frozenset[str]] | None) -> None:
        before = self._places.pop(key, None)
        for entry, step in ((before, -1), (place, 1)):
            if entry is not None:
                counts = self._counts.setdefault(entry[0], {})
                for state in entry[1]:
                    counts[state] = counts.get(state, 0) + step
                holders = self._holders.setdefault(entry[0], set())
                (holders.add if step > 0 and RESERVING in entry[1] else holders.discard)(key)
        if place is not None:
            self._places[key] = place


def flavor_names(queue: Obj) -> list[str]:
    """The flavors a ClusterQueue refers to, in their order."""
    groups = queue["spec"].get("resourceGroups") or []
    return [flavor["name"] for group in groups for flavor in group["flavors"]]
