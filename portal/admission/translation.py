"""Kueue's objects, as the API server shows them, in the words of the admission model; and whom a flavor suits.

Of a Workload's pod set either the whole `template` is given, or what a mirror keeps of it: `requests` (quantities per
pod), `nodeSelector` and `tolerations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from portal.admission import (
    ClusterQueueSpec,
    CohortSpec,
    FlavorQuota,
    Fungibility,
    FungibilityPolicy,
    FungibilityPreference,
    PodSet,
    PodSetAssignment,
    Preemption,
    PreemptionPolicy,
    QueueingStrategy,
    QuotaCell,
    ResourceGroup,
    StopPolicy,
    WorkloadSpec,
)
from portal.admission.quantities import parse, pod_requests, render

Obj = Mapping[str, Any]


def cluster_queue(obj: Obj, *, stopped: bool) -> ClusterQueueSpec:
    """stopped: hold it although its own stopPolicy does not say so (a flavor is missing)."""
    spec = obj["spec"]
    policy = StopPolicy(spec.get("stopPolicy", "None"))
    return ClusterQueueSpec(
        name=obj["metadata"]["name"],
        cohort=spec.get("cohortName") or None,
        strategy=QueueingStrategy(spec.get("queueingStrategy", "BestEffortFIFO")),
        preemption=_preemption(spec.get("preemption") or {}),
        fungibility=_fungibility(spec.get("flavorFungibility") or {}),
        resource_groups=_groups(spec.get("resourceGroups") or []),
        weight=_weight(spec),
        stop_policy=StopPolicy.HOLD if stopped and policy is StopPolicy.NONE else policy,
    )


def cohort(obj: Obj) -> CohortSpec:
    spec = obj.get("spec") or {}
    return CohortSpec(
        name=obj["metadata"]["name"],
        parent=spec.get("parentName") or None,
        weight=_weight(spec),
        resource_groups=_groups(spec.get("resourceGroups") or []),
    )


def workload(obj: Obj, queue: str, created: float, flavors_of: Mapping[str, Iterable[Obj]]) -> WorkloadSpec:
    """flavors_of: for each resource, the ResourceFlavors of its group in the queue."""
    return WorkloadSpec(
        key=key_of(obj),
        queue=queue,
        priority=int(obj["spec"].get("priority", 0)),
        created=created,
        podsets=tuple(_podset(podset, flavors_of) for podset in obj["spec"]["podSets"]),
    )


def key_of(obj: Obj) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def assignment(obj: Obj) -> tuple[PodSetAssignment, ...]:
    """What an admitted Workload holds, as its status says."""
    return tuple(
        PodSetAssignment(one["name"], one.get("flavors") or {}, int(one.get("count", 1)))
        for one in obj["status"]["admission"]["podSetAssignments"]
    )


def usage_text(podset: Obj, count: int) -> dict[str, str]:
    """The requests of `count` pods of a pod set, as quantities."""
    requests = requests_of(podset)
    return {resource: render(resource, requests[resource] * count) for resource in sorted(requests)}


def requests_of(podset: Obj) -> dict[str, int]:
    """What one pod of the set asks for, as integers (`portal.admission.quantities`)."""
    if "template" in podset:
        return pod_requests(podset["template"]["spec"])
    return {name: parse(name, amount) for name, amount in (podset.get("requests") or {}).items()}


def tolerates(toleration: Obj, taint: Obj) -> bool:
    """Whether a toleration matches a taint (an empty key with Exists matches all, an empty effect every effect)."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def _podset(podset: Obj, flavors_of: Mapping[str, Iterable[Obj]]) -> PodSet:
    spec = podset["template"]["spec"] if "template" in podset else podset
    requests = requests_of(podset)
    allowed: set[str] = set()
    excluded = False
    for group in {id(flavors): flavors for flavors in flavors_of.values()}.values():
        keys = {key for flavor in group for key in (flavor.get("spec") or {}).get("nodeLabels") or {}}
        for flavor in group:
            if _suits(spec, flavor, keys):
                allowed.add(flavor["metadata"]["name"])
            else:
                excluded = True
    return PodSet(
        name=podset["name"],
        count=int(podset["count"]),
        requests=requests,
        min_count=podset.get("minCount"),
        flavors_allowed=frozenset(allowed) if excluded else None,
    )


def _suits(pod_spec: Obj, flavor: Obj, keys: set[str]) -> bool:
    """Whether a flavor's nodes may run the pod: of the selector, the labels that any flavor of the group uses count."""
    labels = (flavor.get("spec") or {}).get("nodeLabels") or {}
    selector = pod_spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items() if key in keys):
        return False
    tolerations = [*(pod_spec.get("tolerations") or []), *((flavor.get("spec") or {}).get("tolerations") or [])]
    return all(
        any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in (flavor.get("spec") or {}).get("nodeTaints") or []
        if taint["effect"] in ("NoSchedule", "NoExecute")
    )


def _preemption(said: Mapping[str, Any]) -> Preemption:
    borrowing = said.get("borrowWithinCohort") or {}
    return Preemption(
        within_queue=PreemptionPolicy(said.get("withinClusterQueue", "Never")),
        reclaim_within_cohort=PreemptionPolicy(said.get("reclaimWithinCohort", "Never")),
        borrow_within_cohort=borrowing.get("policy", "Never") != "Never",
        max_priority_threshold=borrowing.get("maxPriorityThreshold"),
    )


def _fungibility(said: Mapping[str, Any]) -> Fungibility:
    return Fungibility(
        when_can_borrow=FungibilityPolicy(_renamed(said.get("whenCanBorrow", "MayStopSearch"))),
        when_can_preempt=FungibilityPolicy(_renamed(said.get("whenCanPreempt", "TryNextFlavor"))),
        preference=FungibilityPreference(said.get("preference", "BorrowingOverPreemption")),
    )


def _renamed(policy: str) -> str:
    """Borrow and Preempt are v1beta1's names for stopping the search."""
    return "MayStopSearch" if policy in ("Borrow", "Preempt") else policy


def _groups(groups: Iterable[Obj]) -> tuple[ResourceGroup, ...]:
    return tuple(
        ResourceGroup(
            resources=tuple(group["coveredResources"]),
            flavors=tuple(
                FlavorQuota(flavor["name"], {quota["name"]: _cell(quota) for quota in flavor["resources"]})
                for flavor in group["flavors"]
            ),
        )
        for group in groups
    )


def _cell(quota: Obj) -> QuotaCell:
    def amount(field: str) -> int | None:
        said = quota.get(field)
        return None if said is None else parse(quota["name"], said)

    return QuotaCell(parse(quota["name"], quota["nominalQuota"]), amount("borrowingLimit"), amount("lendingLimit"))


def _weight(spec: Obj) -> float:
    said = (spec.get("fairSharing") or {}).get("weight", 1)
    return parse("cpu", said) / 1000
