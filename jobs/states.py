"""States and reasons: a few states steer the machine, many reasons explain it to people. Stdlib only.

`TRANSITIONS` is the design's table (section 4). Every reason maps to exactly one state and one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


def gettext_noop(text: str) -> str:
    """Marks a msgid for extraction; it is translated where it is shown."""
    return text


class State(StrEnum):
    SUBMITTED = "submitted"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    IDLE = "idle"
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DELETING = "deleting"
    DELETED = "deleted"


S = State
_LIVE_ENDS = frozenset({S.SUCCEEDED, S.FAILED, S.STOPPING, S.DELETING})
TRANSITIONS: Mapping[State, frozenset[State]] = {
    S.SUBMITTED: frozenset({S.QUEUED, S.STARTING, S.RUNNING}) | _LIVE_ENDS,
    S.QUEUED: frozenset({S.STARTING, S.RUNNING}) | _LIVE_ENDS,
    S.STARTING: frozenset({S.RUNNING, S.QUEUED, S.IDLE}) | _LIVE_ENDS,
    S.RUNNING: frozenset({S.QUEUED, S.STARTING, S.IDLE}) | _LIVE_ENDS,
    S.IDLE: frozenset({S.STARTING, S.QUEUED, S.RUNNING, S.FAILED, S.STOPPING, S.DELETING}),
    S.STOPPING: frozenset({S.STOPPED, S.SUCCEEDED, S.FAILED, S.DELETING}),
    S.STOPPED: frozenset({S.SUBMITTED, S.DELETING}),
    S.SUCCEEDED: frozenset({S.SUBMITTED, S.DELETING}),
    S.FAILED: frozenset({S.SUBMITTED, S.DELETING}),
    S.DELETING: frozenset({S.DELETED}),
    S.DELETED: frozenset(),
}
FINAL_STATES = frozenset({S.STOPPED, S.SUCCEEDED, S.FAILED, S.DELETED})
LIVE_STATES = frozenset(S) - FINAL_STATES - {S.DELETING}


class Reason(StrEnum):
    """Why the workload is where it is. Answers may grow; clients keep unknown ones."""

    ACCEPTED = "accepted"
    WAITING_FOR_SPACE = "waiting_for_space"
    CLUSTER_UNREACHABLE = "cluster_unreachable"
    QUEUE_SYSTEM_UNAVAILABLE = "queue_system_unavailable"
    CLUSTER_REFUSES_ACCESS = "cluster_refuses_access"
    WAITING_FOR_QUOTA = "waiting_for_quota"
    EXCEEDS_MAXIMUM = "exceeds_maximum"
    QUEUE_STOPPED = "queue_stopped"
    QUEUE_MISSING = "queue_missing"
    WAITING_FOR_PREEMPTED = "waiting_for_preempted_work"
    PREEMPTED = "preempted"
    EVICTED = "evicted"
    NODE_LOST_REQUEUED = "node_lost_requeued"
    ADMISSION_CHECK_PENDING = "admission_check_pending"
    WAITING_UNKNOWN = "waiting_unknown"
    PODS_NOT_READY = "pods_not_ready"
    NO_NODE_FITS = "no_node_fits"
    PULLING_IMAGE = "pulling_image"
    WAITING_FOR_OLD_PODS = "waiting_for_old_pods"
    READY = "ready"
    REPLICAS_WAITING = "replicas_waiting"
    NODE_STATE_UNKNOWN = "node_state_unknown"
    SCALED_TO_ZERO = "scaled_to_zero"
    STOP_REQUESTED = "stop_requested"
    IDLE_RECLAIMED = "idle_reclaimed"
    DEADLINE_STOPPING = "deadline_stopping"
    STOPPED_BY_PERSON = "stopped_by_person"
    STOPPED_IDLE = "stopped_idle"
    STOPPED_DEADLINE = "stopped_deadline"
    DELETED_OUTSIDE = "deleted_outside"
    COMPLETED = "completed"
    COMPLETED_WITH_KILLS = "completed_with_kills"
    IMAGE_PULL = "image_cannot_be_pulled"
    IMAGE_NEEDS_ROOT = "image_needs_root"
    OUT_OF_MEMORY = "out_of_memory"
    EXIT_CODE = "exit_code"
    POD_EVICTED = "pod_evicted"
    NODE_FAILURE = "node_failure"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    DEACTIVATED = "deactivated"
    REJECTED = "rejected"
    NAME_CONFLICT = "name_conflict"
    DATA_GONE = "data_gone"
    UNKNOWN_FAILURE = "unknown"
    DELETE_REQUESTED = "delete_requested"
    DELETED = "deleted"


@dataclass(frozen=True)
class Explanation:
    """One row of the reason table. `sentence` and `way_out` are msgids with %(name)s places for `reason_params`."""

    state: State
    sentence: str
    way_out: str = ""


_ = gettext_noop
R = Reason
EXPLANATIONS: Mapping[Reason, Explanation] = {
    R.ACCEPTED: Explanation(S.SUBMITTED, _("Accepted; it goes to the cluster now.")),
    R.WAITING_FOR_SPACE: Explanation(S.SUBMITTED, _("The team's space on the cluster is being prepared.")),
    R.CLUSTER_UNREACHABLE: Explanation(
        S.SUBMITTED, _("The cluster has not answered since %(since)s; it goes on by itself when it does.")
    ),
}
