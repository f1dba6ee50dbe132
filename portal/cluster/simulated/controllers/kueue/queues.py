"""ClusterQueues, LocalQueues, Cohorts and flavors: into the engine, and their status back."""

from __future__ import annotations

from datetime import datetime

from portal.admission import StopPolicy
from portal.admission import translation as specs
from portal.admission.quantities import parse, render
from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, Condition, is_true
from portal.cluster.simulated.controllers.kueue.admission import AdmissionController
from portal.cluster.simulated.controllers.kueue.books import ADMITTED, PENDING, RESERVING, Books, flavor_names
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change

Name = tuple[str, str]
_INACTIVE = "Can't submit new workloads to clusterQueue"


class QueueController:
    """Keys: ("ClusterQueue", name), ("Cohort", name) and ("LocalQueue", "namespace/name")."""

    watches = ("ClusterQueue", "LocalQueue", "Cohort", "ResourceFlavor", "Workload")

    def __init__(self, world: World, books: Books, admission: AdmissionController) -> None:
        self._world = world
        self._books = books
        self._admission = admission

    def keys_for(self, change: Change) -> list[Name]:
        if change.kind == "Workload":
            queue = change.object["spec"].get("queueName") or ""
            return [("LocalQueue", f"{change.namespace}/{queue}")]
        if change.kind == "LocalQueue":
            return [("LocalQueue", f"{change.namespace}/{change.name}")]
        if change.kind == "ResourceFlavor":
            users = (one for one in self._world.store.scan("ClusterQueue") if change.name in flavor_names(one))
            return [("ClusterQueue", one["metadata"]["name"]) for one in users]
        return [(change.kind, change.name)]

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass over one queue or cohort."""
        if namespace == "ClusterQueue":
            self._cluster_queue(name)
        elif namespace == "Cohort":
            self._cohort(name)
        else:
            self._local_queue(*name.split("/", 1))
        return None

    def _cohort(self, name: str) -> None:
        found = self._world.store.get("Cohort", None, name)
        if found is None:
            self._books.engine.delete_cohort(name, self._books.time())
        else:
            self._books.engine.upsert_cohort(specs.cohort(found), self._books.time())

    def _cluster_queue(self, name: str) -> None:
        found = self._world.store.get("ClusterQueue", None, name)
        if found is None:
            self._books.engine.delete_queue(name, self._books.time())
            return
        missing = self._books.missing_flavors(found)
        going = "deletionTimestamp" in found["metadata"]
        spec = specs.cluster_queue(found, stopped=bool(missing) or going)
        self._admission.write(self._books.engine.upsert_queue(spec, self._books.time()))
        self._write_cluster_queue(found, self._why_inactive(found, missing, going=going))

    @staticmethod
    def _why_inactive(found: Obj, missing: list[str], *, going: bool) -> tuple[str, str] | None:
        if going:
            return "Terminating", "Can't admit new workloads; clusterQueue is terminating"
        if missing:
            return (
                "FlavorNotFound",
                f"Can't admit new workloads: references missing ResourceFlavor(s): {', '.join(missing)}.",
            )
        if StopPolicy(found["spec"].get("stopPolicy", "None")) is not StopPolicy.NONE:
            return "Stopped", "Can't admit new workloads: is stopped."
        return None

    def _write_cluster_queue(self, found: Obj, inactive: tuple[str, str] | None) -> None:
        at, name = self._world.stamp(), found["metadata"]["name"]
        value, why = (FALSE, inactive) if inactive else (TRUE, ("Ready", "Can admit new workloads"))
        counts, usage = self._total(found), self._books.engine.usage(name)
        flavors = [
            {
                "name": flavor,
                "resources": [
                    {"borrowed": render(resource, borrowed), "name": resource, "total": render(resource, total)}
                    for resource, (total, borrowed) in sorted(resources.items())
                ],
            }
            for flavor, resources in usage.items()
        ]
        generation = (("observedGeneration", found["metadata"].get("generation", 1)),)

        def write(stored: Obj) -> None:
            status = stored.setdefault("status", {})
            conditions.put(status, Condition("Active", value, *why, extra=generation), at)
            status.update(
                flavorsReservation=flavors,
                flavorsUsage=flavors,
                pendingWorkloads=counts[PENDING],
                reservingWorkloads=counts[RESERVING],
                admittedWorkloads=counts[ADMITTED],
            )

        self._world.change(found, write, status=True)

    def _total(self, found: Obj) -> dict[str, int]:
        name, total = found["metadata"]["name"], {PENDING: 0, RESERVING: 0, ADMITTED: 0}
        for local in self._world.store.scan("LocalQueue"):
            if local["spec"]["clusterQueue"] == name:
                counts = self._books.counts(local["metadata"]["namespace"], local["metadata"]["name"])
                total = {state: total[state] + counts[state] for state in total}
        return total

    def _local_queue(self, namespace: str, name: str) -> None:
        found = self._world.store.get("LocalQueue", namespace, name)
        if found is None:
            return
        queue = self._world.store.get("ClusterQueue", None, found["spec"]["clusterQueue"])
        if queue is not None:
            self._cluster_queue(queue["metadata"]["name"])
            queue = self._world.store.get("ClusterQueue", None, found["spec"]["clusterQueue"])
        self._write_local_queue(found, queue)

    def _write_local_queue(self, found: Obj, queue: Obj | None) -> None:
        at, meta = self._world.stamp(), found["metadata"]
        value, why = _local_state(found, queue)
        counts = self._books.counts(meta["namespace"], meta["name"])
        usage = self._usage(meta["namespace"], meta["name"])
        generation = (("observedGeneration", meta.get("generation", 1)),)

        def write(stored: Obj) -> None:
            status = stored.setdefault("status", {})
            conditions.put(status, Condition("Active", value, *why, extra=generation), at)
            status.update(
                flavorsReservation=usage,
                flavorsUsage=usage,
                pendingWorkloads=counts[PENDING],
                reservingWorkloads=counts[RESERVING],
                admittedWorkloads=counts[ADMITTED],
            )

        self._world.change(found, write, status=True)

    def _usage(self, namespace: str, name: str) -> list[Obj]:
        """What the queue's Workloads hold, by flavor and resource, from their status."""
        held: dict[str, dict[str, int]] = {}
        for key in self._books.workloads_of(namespace, name):
            obj = self._world.store.get("Workload", namespace, key.partition("/")[2])
            for flavor, resource, amount in _held(obj):
                flavors = held.setdefault(flavor, {})
                flavors[resource] = flavors.get(resource, 0) + amount
        return [
            {
                "name": flavor,
                "resources": [{"name": one, "total": render(one, total)} for one, total in sorted(resources.items())],
            }
            for flavor, resources in sorted(held.items())
        ]


def _held(obj: Obj | None) -> list[tuple[str, str, int]]:
    admission = ((obj or {}).get("status") or {}).get("admission") or {}
    return [
        (podset["flavors"][resource], resource, parse(resource, amount))
        for podset in admission.get("podSetAssignments") or []
        for resource, amount in (podset.get("resourceUsage") or {}).items()
        if resource in (podset.get("flavors") or {})
    ]


def _local_state(found: Obj, queue: Obj | None) -> tuple[str, tuple[str, str]]:
    if found["spec"].get("stopPolicy", "None") != "None":
        return FALSE, ("Stopped", "LocalQueue is stopped")
    if queue is None:
        return FALSE, ("ClusterQueueDoesNotExist", _INACTIVE)
    if not is_true(queue.get("status") or {}, "Active"):
        return FALSE, ("ClusterQueueIsInactive", _INACTIVE)
    return TRUE, ("Ready", "Can submit new workloads to localQueue")
