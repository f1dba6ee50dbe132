"""How Kueue writes a Workload's status: reservation, admission, eviction, release, end. Pure functions."""

from __future__ import annotations

from datetime import datetime

from portal.admission import Admit
from portal.admission.translation import usage_text
from portal.cluster.simulated.controllers import conditions
from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, Condition, find, is_true
from portal.cluster.simulated.objects import Obj, parse_timestamp

_ORDER = (
    "PodsReady",
    "QuotaReserved",
    "Evicted",
    "Admitted",
    "Preempted",
    "Requeued",
    "DeactivationTarget",
    "Finished",
)
NOT_READY = ("WaitForStart", "Not all pods are ready or succeeded")
READY = ("Started", "All pods reached readiness and the workload is running")
RECOVERING = ("WaitForRecovery", "At least one pod has failed, waiting for recovery")


def say(obj: Obj, kind: str, value: str, why: tuple[str, str], at: str) -> bool:
    """Write a condition at its place in Kueue's order. Returns whether anything changed."""
    status: Obj = obj.setdefault("status", {})
    seen = () if kind == "Preempted" else (("observedGeneration", obj["metadata"].get("generation", 1)),)
    changed = conditions.put(status, Condition(kind, value, *why, extra=seen), at)
    status["conditions"].sort(key=lambda one: _ORDER.index(one["type"]) if one["type"] in _ORDER else len(_ORDER))
    return changed


def admit(obj: Obj, decision: Admit, at: str) -> None:
    """Quota reserved and, without admission checks, admitted at once."""
    status: Obj = obj.setdefault("status", {})
    podsets = {podset["name"]: podset for podset in obj["spec"]["podSets"]}
    status["admission"] = {
        "clusterQueue": decision.queue,
        "podSetAssignments": [
            {
                "name": one.name,
                "flavors": dict(sorted(one.flavors.items())),
                "resourceUsage": usage_text(podsets[one.name], one.count),
                "count": one.count,
            }
            for one in decision.assignment
        ],
    }
    status.pop("resourceRequests", None)
    say(obj, "PodsReady", FALSE, NOT_READY, at)
    for kind in ("Evicted", "Preempted"):
        told = find(status, kind)
        if told is not None and told["status"] == TRUE:
            say(obj, kind, FALSE, ("QuotaReserved", f"Previously: {told['message']}"), at)
    say(obj, "QuotaReserved", TRUE, ("QuotaReserved", f"Quota reserved in ClusterQueue {decision.queue}"), at)
    say(obj, "Admitted", TRUE, ("Admitted", "The workload is admitted"), at)


def wait(obj: Obj, reason: str, message: str, at: str) -> bool:
    """The last attempt to admit it failed, for this reason."""
    status: Obj = obj.setdefault("status", {})
    if reason != "Inadmissible":
        status["resourceRequests"] = [
            {"name": podset["name"], "resources": usage_text(podset, podset["count"])}
            for podset in obj["spec"]["podSets"]
        ]
    return say(obj, "QuotaReserved", FALSE, (reason, message), at)


def evict(
    obj: Obj, reason: str, message: str, at: str, *, preempted: str = "", cause: str = "", stats: str = ""
) -> None:
    """It must stop. preempted: the reason of the Preempted condition; cause: what the reason was due to; stats: what
    it was due to where only the statistics say so."""
    full = f"{reason}DueTo{cause}" if cause else reason
    say(obj, "Evicted", TRUE, (full, message), at)
    if preempted:
        say(obj, "Preempted", TRUE, (preempted, message), at)
    evictions = obj["status"].setdefault("schedulingStats", {}).setdefault("evictions", [])
    for entry in evictions:
        if (entry["reason"], entry["underlyingCause"]) == (reason, cause or stats):
            entry["count"] += 1
            return
    evictions.append({"count": 1, "reason": reason, "underlyingCause": cause or stats})


def release(obj: Obj, now: datetime, at: str) -> None:
    """Its pods are gone: the quota is given back, and it waits again unless it is deactivated."""
    status, told = obj["status"], find(obj["status"], "Evicted")
    reason, message = (told["reason"], told["message"]) if told is not None else ("Pending", "")
    reserved = find(status, "Admitted")
    if reserved is not None and reserved["status"] == TRUE:
        ran = int((now - parse_timestamp(reserved["lastTransitionTime"])).total_seconds())
        status["accumulatedPastExecutionTimeSeconds"] = status.get("accumulatedPastExecutionTimeSeconds", 0) + ran
    status.pop("admission", None)
    say(obj, "QuotaReserved", FALSE, ("Pending", message), at)
    say(obj, "Admitted", FALSE, ("NoReservation", "The workload has no reservation"), at)
    backs_off = "requeueAt" in (status.get("requeueState") or {})
    tried = obj["spec"].get("active", True) and not backs_off
    say(obj, "Requeued", TRUE if tried else FALSE, (reason, message), at)


def finish(obj: Obj, reason: str, message: str, at: str) -> None:
    say(obj, "Finished", TRUE, (reason, message), at)


def pods_ready(obj: Obj, *, ready: bool, failing: bool, at: str) -> bool:
    """failing: it was ready before and pods have failed since."""
    why = READY if ready else (RECOVERING if failing else NOT_READY)
    return say(obj, "PodsReady", TRUE if ready else FALSE, why, at)


def is_finished(obj: Obj) -> bool:
    return is_true(obj.get("status") or {}, "Finished")


def holds_quota(obj: Obj) -> bool:
    return is_true(obj.get("status") or {}, "QuotaReserved")


def is_admitted(obj: Obj) -> bool:
    return is_true(obj.get("status") or {}, "Admitted")


def must_stop(obj: Obj) -> bool:
    """Evicted and not yet released."""
    return holds_quota(obj) and is_true(obj.get("status") or {}, "Evicted")


def why_evicted(obj: Obj) -> str:
    told = find(obj.get("status") or {}, "Evicted")
    return "" if told is None else str(told["message"])
