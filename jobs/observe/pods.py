"""Pods -> ready, waiting for what, ended how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.observe.seen import Seen, as_list, as_map, count, is_true, since, text, when

PULL_FAILED = ("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
NEEDS_ROOT = ("runAsNonRoot", "run as root", "non-numeric user")


@dataclass(frozen=True)
class Ended:
    """How a container ended (this time, or the last time before a restart)."""

    code: int
    reason: str
    at: datetime | None

    @property
    def killed_for_memory(self) -> bool:
        return self.reason == "OOMKilled"


@dataclass(frozen=True)
class Container:
    """One container's status. `waiting`: the reason it does not run; `restarts`: how often it was started again."""

    name: str
    ready: bool
    restarts: int
    waiting: str
    waiting_text: str
    image: str
    ended: Ended | None
    ended_before: Ended | None

    @property
    def ends(self) -> tuple[Ended, ...]:
        return tuple(one for one in (self.ended, self.ended_before) if one is not None)


@dataclass(frozen=True)
class Pod:
    """One pod. `gated`: Kueue holds it back; `disrupted`: why the cluster took it away ("" = it did not)."""

    name: str
    uid: str
    run: int | None
    phase: str
    ready: bool
    ready_since: datetime | None
    node: str
    reason: str
    message: str
    deleting: bool
    gated: bool
    unschedulable: str
    disrupted: str
    containers: tuple[Container, ...]

    @property
    def over(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def evicted(self) -> bool:
        return self.reason == "Evicted"


def pod(seen: Seen) -> Pod:
    """What one mirrored pod says."""
    spec, status, conditions = seen.part("spec"), seen.part("status"), seen.conditions
    scheduled = as_map(conditions.get("PodScheduled"))
    stuck = scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"
    disruption = conditions.get("DisruptionTarget")
    statuses = as_list(status.get("initContainerStatuses")) + as_list(status.get("containerStatuses"))
    return Pod(
        name=seen.name,
        uid=seen.uid,
        run=seen.run,
        phase=text(status, "phase"),
        ready=is_true(conditions.get("Ready")) and not seen.deleting,
        ready_since=since(conditions.get("Ready")),
        node=text(spec, "nodeName"),
        reason=text(status, "reason"),
        message=text(status),
        deleting=seen.deleting,
        gated=bool(as_list(spec.get("schedulingGates"))),
        unschedulable=text(scheduled) if stuck else "",
        disrupted=text(disruption, "reason") if is_true(disruption) else "",
        containers=tuple(_container(one) for one in statuses),
    )


def _container(status: Mapping[str, Any]) -> Container:
    state, last = as_map(status.get("state")), as_map(status.get("lastState"))
    waiting = as_map(state.get("waiting"))
    return Container(
        name=text(status, "name"),
        ready=status.get("ready") is True,
        restarts=count(status.get("restartCount")),
        waiting=text(waiting, "reason"),
        waiting_text=text(waiting),
        image=text(status, "image"),
        ended=_ended(state),
        ended_before=_ended(last),
    )


def _ended(state: Mapping[str, Any]) -> Ended | None:
    terminated = as_map(state.get("terminated"))
    if not terminated:
        return None
    code = terminated.get("exitCode")
    return Ended(code if isinstance(code, int) else -1, text(terminated, "reason"), when(terminated.get("finishedAt")))
