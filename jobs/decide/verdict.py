"""What a pass concludes about the open run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from jobs.states import Reason

SUCCEEDED, FAILED, STOPPED, DELETED = "succeeded", "failed", "stopped", "deleted"


@dataclass(frozen=True)
class Record:
    """What is known of the workload besides the mirror.

    `memory`: the limit of a pod, as typed. `max_duration` in seconds. `placed`: pod name -> node, of pods gone as well.
    """

    kind: str
    pods: int
    memory: str
    image: str
    max_duration: int | None = None
    placed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """`reason` None: nothing new can be said yet. A non-empty `outcome` closes the run.

    `preemptor`: uid of the job that this one made room for. `look_again`: seconds, None = only when something changes.
    """

    reason: Reason | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    outcome: str = ""
    exit_code: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    preemptor: str = ""
    look_again: float | None = None
