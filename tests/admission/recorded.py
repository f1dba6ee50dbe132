"""Plays recorded scenarios (scenarios of a real Kueue, see data/README.md) through the engine.

`Scenario` takes a scenario's header and then one event after the other; `apply` answers with the settled state in the
recording's own format, so that the two can be compared key by key.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    CohortSpec,
    Decision,
    Engine,
    Evict,
    FairSharing,
    FairStrategy,
    FlavorQuota,
    Fungibility,
    FungibilityPolicy,
    FungibilityPreference,
    PodSet,
    Preemption,
    PreemptionPolicy,
    QueueingStrategy,
    QuotaCell,
    Released,
    ResourceGroup,
    StopPolicy,
    WorkloadSpec,
)

Record = dict[str, Any]


def cell_of(quota: Mapping[str, int]) -> QuotaCell:
    """A quota as recorded: absent limits are unset."""
    return QuotaCell(quota["nominal"], quota.get("borrowing_limit"), quota.get("lending_limit"))


def groups_of(groups: Iterable[Record]) -> tuple[ResourceGroup, ...]:
    """Resource groups as recorded."""
    return tuple(
        ResourceGroup(
            tuple(group["resources"]),
            tuple(
                FlavorQuota(flavor["name"], {name: cell_of(quota) for name, quota in flavor["resources"].items()})
                for flavor in group["flavors"]
            ),
        )
        for group in groups
    )


def preemption_of(record: Record) -> Preemption:
    """Preemption settings as recorded."""
    borrow = record.get("borrow_within_cohort") or {"policy": "Never"}
    return Preemption(
        within_queue=PreemptionPolicy(record["within_cluster_queue"]),
        reclaim_within_cohort=PreemptionPolicy(record["reclaim_within_cohort"]),
        borrow_within_cohort=borrow["policy"] != "Never",
        max_priority_threshold=borrow.get("max_priority_threshold"),
    )


def fungibility_of(record: Record) -> Fungibility:
    """Flavor fungibility as recorded."""
    preference = record.get("preference") or FungibilityPreference.BORROWING_OVER_PREEMPTION
    return Fungibility(
        FungibilityPolicy(record["when_can_borrow"]),
        FungibilityPolicy(record["when_can_preempt"]),
        FungibilityPreference(preference),
    )


def weight_of(record: Record) -> float:
    """A fair-sharing weight, recorded as a Kubernetes quantity."""
    text = str(record.get("weight", "1"))
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


class Scenario:
    """One recorded cluster, replayed by the engine from the start."""

    explains = True

    def __init__(self, header: Record) -> None:
        fair = header["config"]["fair_sharing"]
        strategies = None if fair is None else fair.get("preemption_strategies")
        sharing = FairSharing(tuple(map(FairStrategy, strategies))) if strategies else FairSharing()
        self.engine = Engine(None if fair is None else sharing, instant_release=True, explains=self.explains)
        self.priorities = header["priority_classes"]
        self.queues: dict[str, Record] = {queue["name"]: dict(queue) for queue in header["cluster_queues"]}
        self.cohorts: dict[str, Record] = {cohort["name"]: dict(cohort) for cohort in header["cohorts"]}
        self.stopped: dict[str, str] = {}
        self.workloads: dict[str, Record] = {}
        self.now = 0.0
        for name in self.cohorts:
            self._put_cohort(name, 0.0)
        for name in self.queues:
            self._put_queue(name, 0.0)
        self.engine.settle(0.0)

    def _put_cohort(self, name: str, now: float) -> None:
        cohort = self.cohorts[name]
        groups = groups_of(cohort.get("resource_groups", ()))
        self.engine.upsert_cohort(CohortSpec(name, cohort.get("parent"), weight_of(cohort), groups), now)

    def _put_queue(self, name: str, now: float) -> list[Decision]:
        queue = self.queues[name]
        spec = ClusterQueueSpec(
            name=name,
            cohort=queue["cohort"],
            strategy=QueueingStrategy(queue["strategy"]),
            preemption=preemption_of(queue["preemption"]),
            fungibility=fungibility_of(queue["fungibility"]),
            resource_groups=groups_of(queue["resource_groups"]),
            weight=weight_of(queue),
            stop_policy=StopPolicy(self.stopped.get(name, "None")),
        )
        return self.engine.upsert_queue(spec, now)

    def apply(self, event: Record) -> Record:
        """Play one event, let everything settle, and answer with the state in the recording's format."""
        self.now = max(self.now, event["at"])
        decisions = getattr(self, "_" + event["op"])(event)
        settled = self.engine.settle(self.now)
        self.now = settled.ended_at
        decisions += [decision for _, decision in settled.decisions]
        changes = [change for decision in decisions for change in self._note(decision)]
        return {"workloads": self.workloads, "queues": self._queues(), "changes": changes}

    def _submit(self, event: Record) -> list[Decision]:
        podsets = tuple(
            PodSet(podset["name"], podset["count"], podset["requests"], podset.get("min_count"))
            for podset in event["podsets"]
        )
        key = event["workload"]
        self.workloads[key] = {"state": "pending"}
        priority = self.priorities[event["priority"]]
        return self.engine.submit(WorkloadSpec(key, event["queue"], priority, event["at"], podsets))

    def _finish(self, event: Record) -> list[Decision]:
        self.engine.finish(event["workload"], self.now)
        self.workloads[event["workload"]] = {"state": "finished"}
        return []

    def _delete(self, event: Record) -> list[Decision]:
        self.engine.delete(event["workload"], self.now)
        self.workloads[event["workload"]] = {"state": "deleted"}
        return []

    def _set_active(self, event: Record) -> list[Decision]:
        known = self.workloads[event["workload"]]
        why: Record = {name: known[name] for name in ("reason", "message") if name in known}
        self.workloads[event["workload"]] = {"state": "pending" if event["active"] else "inactive", **why}
        return self.engine.set_active(event["workload"], self.now, active=event["active"])

    def _set_stop_policy(self, event: Record) -> list[Decision]:
        self.stopped[event["cluster_queue"]] = event["stop_policy"]
        return self._put_queue(event["cluster_queue"], self.now)

    def _set_quota(self, event: Record) -> list[Decision]:
        owner = self.queues[event["cluster_queue"]] if "cluster_queue" in event else self.cohorts[event["cohort"]]
        for group in owner["resource_groups"]:
            for flavor in group["flavors"]:
                if flavor["name"] == event["flavor"]:
                    flavor["resources"][event["resource"]] = event["quota"]
        if "cluster_queue" in event:
            return self._put_queue(event["cluster_queue"], self.now)
        self._put_cohort(event["cohort"], self.now)
        return []

    def _note(self, decision: Decision) -> list[list[Any]]:
        known = self.workloads[decision.key]
        if isinstance(decision, Admit):
            flavors = {podset.name: dict(podset.flavors) for podset in decision.assignment}
            count = {podset.name: podset.count for podset in decision.assignment}
            self.workloads[decision.key] = {"state": "admitted", "flavors": flavors, "count": count}
            return [[decision.key, "reserved"], [decision.key, "admitted"]]
        if isinstance(decision, Evict):
            why = [] if decision.by is None else [str(decision.preempted_reason), decision.by]
            return [[decision.key, "evicted", str(decision.reason), *why]]
        if isinstance(decision, Released):
            self.workloads[decision.key] = {"state": "pending"}
            return [[decision.key, "released"]]
        if known["state"] in {"pending", "inactive"}:
            known["reason"], known["message"] = str(decision.reason), decision.message
        return []

    def _queues(self) -> dict[str, Record]:
        answer: dict[str, Record] = {}
        for name in self.queues:
            reserved = {
                flavor: {
                    resource: {"total": total, "borrowed": borrowed} for resource, (total, borrowed) in held.items()
                }
                for flavor, held in self.engine.usage(name).items()
            }
            active = self.stopped.get(name, "None") == "None"
            answer[name] = {"pending": self.engine.pending_order(name), "reserved": reserved, "active": active}
        return answer


class QuietScenario(Scenario):
    """The same without messages, where the engine takes shortcuts."""

    explains = False
