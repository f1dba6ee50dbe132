"""Kueue's waitForPodsReady, with its own defaults: what is admitted and does not come up gives its quota back.

Quota is not room: what no node can take would hold its quota for ever. After the timeout it is evicted, waits out a
back-off that doubles each time, and then stands where the time of its eviction puts it, behind what came before that.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from portal.cluster.simulated.controllers.conditions import FALSE, TRUE, find, is_true
from portal.cluster.simulated.controllers.kueue import ledger
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj, parse_timestamp, timestamp

TIMEOUT_S = 1800.0
BACKOFF_BASE_S, BACKOFF_MOST_S = 60.0, 3600.0
REASON, CAUSE = "PodsReadyTimeout", "WaitForStart"
FINISHED = ("BackoffFinished", "The workload backoff was finished")


def due(world: World, obj: Obj) -> datetime | None:
    """When an admitted Workload has to be ready; None where it is, or was before."""
    told, admitted = find(obj["status"], "PodsReady"), find(obj["status"], "Admitted")
    waits = told is not None and told["status"] == FALSE and told["reason"] == ledger.NOT_READY[0]
    if not waits or admitted is None or admitted["status"] != TRUE:
        return None
    return world.due(parse_timestamp(admitted["lastTransitionTime"]), TIMEOUT_S)


def give_up(world: World, obj: Obj, message: str) -> None:
    """Evict it, count that, and say when it is tried again. Times are whole seconds, never too early."""
    ledger.evict(obj, REASON, message, world.stamp(), stats=CAUSE)
    state = obj["status"].setdefault("requeueState", {})
    state["count"] = state.get("count", 0) + 1
    wait = min(BACKOFF_MOST_S, BACKOFF_BASE_S * 2.0 ** (state["count"] - 1))
    state["requeueAt"] = timestamp(world.due(world.now(), wait) + timedelta(seconds=1))


def tried_again_at(obj: Obj) -> datetime | None:
    """The end of its back-off; None where it has none."""
    told = ((obj.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return None if told is None else parse_timestamp(told)


def end_back_off(obj: Obj, at: str) -> None:
    """It waits for quota again."""
    obj["status"]["requeueState"].pop("requeueAt")
    ledger.say(obj, "Requeued", TRUE, FINISHED, at)


def queued_at(obj: Obj, created: datetime) -> datetime:
    """By what it stands in line: its creation, or its eviction for pods that were not ready."""
    told = find(obj.get("status") or {}, "Evicted")
    evicted = told is not None and told["reason"] == REASON and is_true(obj["status"], "Evicted")
    return parse_timestamp(told["lastTransitionTime"]) if told is not None and evicted else created
