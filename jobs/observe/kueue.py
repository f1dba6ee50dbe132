"""Kueue Workloads -> who holds quota, since when, and why the rest waits. Both dialects: with the coarse reasons the
message is read, with the fine ones (gate UnadmittedWorkloadsObservability) the reason is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_CEILING
from typing import Any

from jobs.observe.seen import Seen, as_list, as_map, count, is_true, since, text
from jobs.specs.quantities import amount
from jobs.states import Reason

UNUSED = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+?), (\S+) more needed")
BEYOND = re.compile(r"insufficient quota for (\S+) in flavor (\S+?)[, ]")
PREEMPTOR = re.compile(r"\(UID: (\S*?), JobUID: (\S*?)\)")
PENDING_PREEMPTION = re.compile(r"[Pp]ending the preemption of \d+ workload")
FINE_REASONS: Mapping[str, Reason] = {
    "WaitingForQuota": Reason.WAITING_FOR_QUOTA,
    "ExceedsMaxQuota": Reason.EXCEEDS_MAXIMUM,
    "WaitingForPreemptedWorkloads": Reason.WAITING_FOR_PREEMPTED,
    "Misconfigured": Reason.QUEUE_MISSING,
    "Suspended": Reason.QUEUE_STOPPED,
}
MISSING = re.compile(r"(?:LocalQueue|ClusterQueue) \S+ doesn't exist")
INACTIVE = re.compile(r"(?:LocalQueue|ClusterQueue) \S+ is (?:inactive|stopped)")
LONGEST_MESSAGE, LONGEST_TEXT = 4000, 500
IN_LINE_TEXTS = ("no longer fits after processing another workload", "not yet been evaluated")


@dataclass(frozen=True)
class Waiting:
    """Why a Kueue Workload holds no quota. `preemptor`: uid of the job it made room for."""

    reason: Reason
    params: Mapping[str, str] = field(default_factory=dict)
    preemptor: str = ""


@dataclass(frozen=True)
class Admission:
    """One Kueue Workload. `held`: quota is reserved and not given back; times are the cluster's.

    `units`: (ResourceFlavor, resource) -> whole units, CPU rounded up. `pods`: how many pods were admitted.
    `preempted`: how often so far.
    """

    uid: str
    owner_uid: str
    created: datetime | None
    held: bool
    admitted: bool
    finished: bool
    reserved_at: datetime | None
    released_at: datetime | None
    pods: int
    units: Mapping[tuple[str, str], int]
    waiting: Waiting | None
    evicted: Waiting | None
    preempted: int = 0


def admission(seen: Seen, flavor: str = "") -> Admission:
    """What one mirrored Kueue Workload says; `flavor`: the ResourceFlavor that was asked for."""
    conditions = seen.conditions
    reserved, finished = conditions.get("QuotaReserved"), conditions.get("Finished")
    held = is_true(reserved) and not is_true(finished)
    evicted = _eviction(conditions)
    return Admission(
        uid=seen.uid,
        owner_uid=seen.job_uid or seen.owner_uid,
        created=seen.created,
        held=held,
        admitted=held and is_true(conditions.get("Admitted")),
        finished=is_true(finished),
        reserved_at=since(reserved) if is_true(reserved) else None,
        released_at=since(finished) if is_true(finished) else (None if held else since(reserved)),
        pods=_pods(seen) if is_true(reserved) else 0,
        units=_units(seen) if is_true(reserved) else {},
        waiting=None
        if held and is_true(conditions.get("Admitted")) and evicted is None
        else _waiting(seen, evicted, flavor),
        evicted=evicted,
        preempted=_preempted(seen),
    )


def _assignments(seen: Seen) -> list[Mapping[str, Any]]:
    return as_list(as_map(seen.part("status").get("admission")).get("podSetAssignments"))


def _preempted(seen: Seen) -> int:
    """How often, as Kueue itself counts."""
    evictions = as_list(as_map(seen.part("status").get("schedulingStats")).get("evictions"))
    return sum(count(one.get("count")) for one in evictions if one.get("reason") == "Preempted")


def _pods(seen: Seen) -> int:
    return sum(count(one.get("count")) for one in _assignments(seen))


def _units(seen: Seen) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for one in _assignments(seen):
        flavors, usage = as_map(one.get("flavors")), as_map(one.get("resourceUsage"))
        for resource, flavor in flavors.items():
            value = amount(str(usage.get(resource, "")))
            if value is not None and value > 0:
                cell = (str(flavor), str(resource))
                found[cell] = found.get(cell, 0) + int(value.to_integral_value(ROUND_CEILING))
    return found


def _waiting(seen: Seen, evicted: Waiting | None, flavor: str) -> Waiting:
    if seen.part("spec").get("active") is False:
        return _deactivated(seen.conditions)
    if evicted is not None:
        return evicted
    reserved = seen.conditions.get("QuotaReserved")
    if is_true(reserved):
        return Waiting(Reason.ADMISSION_CHECK_PENDING, {"text": text(seen.conditions.get("Admitted"))})
    if reserved is None:
        return Waiting(Reason.IN_LINE)
    return pending(str(reserved.get("reason", "")), text(reserved, longest=LONGEST_MESSAGE), flavor)


def pending(reason: str, message: str, flavor: str = "") -> Waiting:
    """QuotaReserved=False, either dialect. A message speaks of every flavor of the queue: the one asked for counts."""
    if PENDING_PREEMPTION.search(message):
        return Waiting(Reason.WAITING_FOR_PREEMPTED)
    unused, beyond = _of_flavor(UNUSED, message, flavor), _of_flavor(BEYOND, message, flavor)
    if unused is not None and not (beyond is not None and beyond[2] == flavor != unused[2]):
        return Waiting(Reason.WAITING_FOR_QUOTA, _cell(unused) | {"needed": unused[3].rstrip(".")})
    if beyond is not None:
        return Waiting(Reason.EXCEEDS_MAXIMUM, _cell(beyond))
    if MISSING.search(message):
        return Waiting(Reason.QUEUE_MISSING, {"text": message[:LONGEST_TEXT]})
    if INACTIVE.search(message):
        return Waiting(Reason.QUEUE_STOPPED, {"text": message[:LONGEST_TEXT]})
    if any(part in message for part in IN_LINE_TEXTS) or reason == "PendingEvaluation":
        return Waiting(Reason.IN_LINE)
    if (fine := FINE_REASONS.get(reason)) is not None:
        return Waiting(fine, {"text": message[:LONGEST_TEXT]})
    return Waiting(Reason.WAITING_UNKNOWN, {"text": message[:LONGEST_TEXT] or reason})


def _of_flavor(pattern: re.Pattern[str], message: str, flavor: str) -> re.Match[str] | None:
    """The match that speaks of this flavor, else the first."""
    found = list(pattern.finditer(message))
    return next((one for one in found if one[2] == flavor), found[0] if found else None)


def _cell(match: re.Match[str]) -> dict[str, str]:
    return {"resource": match[1], "flavor": match[2]}


def _deactivated(conditions: Mapping[str, Mapping[str, Any]]) -> Waiting:
    """`spec.active` is false: for good, as far as this run goes. The cause is a suffix of the eviction's reason."""
    names = {str(as_map(conditions.get(kind)).get("reason", "")) for kind in ("Evicted", "DeactivationTarget")}
    message = text(conditions.get("Evicted"))
    if any("MaximumExecutionTimeExceeded" in name for name in names):
        return Waiting(Reason.DEADLINE_EXCEEDED)
    if any("RequeuingLimitExceeded" in name for name in names):
        return Waiting(Reason.REQUEUED_TOO_OFTEN, {"text": message})
    return Waiting(Reason.DEACTIVATED, {"text": message})


def _eviction(conditions: Mapping[str, Mapping[str, Any]]) -> Waiting | None:
    """A current eviction; old ones stay with status False and count no more."""
    evicted = conditions.get("Evicted")
    if not is_true(evicted):
        return None
    reason, message = text(evicted, "reason"), text(evicted)
    if reason == "Preempted":
        match = PREEMPTOR.search(message)
        rule = text(conditions.get("Preempted"), "reason")
        return Waiting(Reason.PREEMPTED, {"rule": rule}, preemptor=match[2] if match else "")
    if reason == "NodeFailures":
        return Waiting(Reason.NODE_LOST_REQUEUED, {"node": _node(message)})
    if reason in ("ClusterQueueStopped", "LocalQueueStopped"):
        return Waiting(Reason.QUEUE_STOPPED, {"text": message})
    return Waiting(Reason.EVICTED, {"why": reason, "text": message})


def _node(message: str) -> str:
    match = re.search(r"node\S*\s+(\S+)", message)
    return match[1] if match else ""
