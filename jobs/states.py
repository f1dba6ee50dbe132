"""States and reasons: a few states steer the machine, many reasons explain it to people. Stdlib only.

`TRANSITIONS` is the design's table (section 4). Every reason maps to exactly one state and one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
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
# How long the home folder of a deleted notebook is kept.
HOME_KEPT = timedelta(days=7)


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
    IN_LINE = "in_line"
    PODS_NOT_READY = "pods_not_ready"
    NO_NODE_FITS = "no_node_fits"
    PULLING_IMAGE = "pulling_image"
    CONTAINER_RESTARTING = "container_restarting"
    NO_REPLICA_READY = "no_replica_ready"
    WAITING_FOR_OLD_PODS = "waiting_for_old_pods"
    READY = "ready"
    REPLICAS_WAITING = "replicas_waiting"
    NODE_STATE_UNKNOWN = "node_state_unknown"
    SCALED_TO_ZERO = "scaled_to_zero"
    STOP_REQUESTED = "stop_requested"
    IDLE_RECLAIMED = "idle_reclaimed"
    DEADLINE_STOPPING = "deadline_stopping"
    STOPPING_UNREACHABLE = "stopping_unreachable"
    GONE_OUTSIDE = "gone_outside"
    STOPPED_BY_PERSON = "stopped_by_person"
    STOPPED_IDLE = "stopped_idle"
    STOPPED_DEADLINE = "stopped_deadline"
    DELETED_OUTSIDE = "deleted_outside"
    RECORDS_BEHIND = "records_behind"
    COMPLETED = "completed"
    COMPLETED_WITH_KILLS = "completed_with_kills"
    IMAGE_PULL = "image_cannot_be_pulled"
    IMAGE_NEEDS_ROOT = "image_needs_root"
    CONTAINER_CONFIG = "container_cannot_start"
    OUT_OF_MEMORY = "out_of_memory"
    EXIT_CODE = "exit_code"
    POD_EVICTED = "pod_evicted"
    POD_DELETED = "pod_deleted"
    NODE_FAILURE = "node_failure"
    DEADLINE_EXCEEDED = "deadline_exceeded"
    DEACTIVATED = "deactivated"
    REQUEUED_TOO_OFTEN = "requeued_too_often"
    REJECTED = "rejected"
    NAME_CONFLICT = "name_conflict"
    DATA_GONE = "data_gone"
    UNKNOWN_FAILURE = "unknown"
    DELETE_REQUESTED = "delete_requested"
    DELETING_UNREACHABLE = "deleting_unreachable"
    DELETED = "deleted"


@dataclass(frozen=True)
class Explanation:
    """One row of the reason table. `sentence` and `way_out` are msgids with %(name)s places for `reason_params`."""

    state: State
    sentence: str
    way_out: str = ""


_ = gettext_noop
R = Reason
_WAITS = _("It starts by itself; nothing has to be done.")
_ASK_ADMIN = _("An administrator of the platform has to look at it.")
_SMALLER = _("Ask for fewer GPUs, choose another flavor, or wait.")
_START_AGAIN = _("Start it again.")
EXPLANATIONS: Mapping[Reason, Explanation] = {
    R.ACCEPTED: Explanation(S.SUBMITTED, _("Accepted; it goes to the cluster now.")),
    R.WAITING_FOR_SPACE: Explanation(S.SUBMITTED, _("The team's space on the cluster is being prepared."), _WAITS),
    R.WAITING_FOR_OLD_PODS: Explanation(S.SUBMITTED, _("The pods of the run before are still ending."), _WAITS),
    R.CLUSTER_UNREACHABLE: Explanation(
        S.SUBMITTED, _("The cluster has not answered since %(since)s; it goes on by itself when it does."), _WAITS
    ),
    R.QUEUE_SYSTEM_UNAVAILABLE: Explanation(
        S.SUBMITTED, _("The cluster's queue controller has not answered since %(since)s."), _WAITS
    ),
    R.CLUSTER_REFUSES_ACCESS: Explanation(
        S.SUBMITTED, _("The cluster refuses Turno since %(since)s: %(text)s"), _ASK_ADMIN
    ),
    R.WAITING_FOR_QUOTA: Explanation(
        S.QUEUED,
        _("Waiting for quota: %(needed)s more of %(resource)s in flavor %(flavor)s."),
        _SMALLER,
    ),
    R.EXCEEDS_MAXIMUM: Explanation(
        S.QUEUED,
        _("It asks for more %(resource)s of flavor %(flavor)s than the team can ever have now: the quota was lowered."),
        _("Stop it, ask for fewer GPUs and start it again, or ask for more quota."),
    ),
    R.QUEUE_STOPPED: Explanation(
        S.QUEUED, _("The team's queue is on hold, or not active on the cluster: %(text)s"), _ASK_ADMIN
    ),
    R.QUEUE_MISSING: Explanation(S.QUEUED, _("The team's queue on the cluster is not ready: %(text)s"), _ASK_ADMIN),
    R.WAITING_FOR_PREEMPTED: Explanation(
        S.QUEUED, _("Its place is found; it waits for the work that had to make room to leave."), _WAITS
    ),
    R.PREEMPTED: Explanation(
        S.QUEUED, _("Preempted by %(by)s (%(rule)s); it waits for quota again."), _("It starts again by itself.")
    ),
    R.EVICTED: Explanation(
        S.QUEUED,
        _("Taken off the cluster (%(why)s): %(text)s It waits for quota again."),
        _("It starts again by itself."),
    ),
    R.NODE_LOST_REQUEUED: Explanation(
        S.QUEUED, _("Its node %(node)s failed; it waits for quota again."), _("It starts again by itself.")
    ),
    R.ADMISSION_CHECK_PENDING: Explanation(
        S.QUEUED, _("Quota is reserved; a check of the cluster is pending: %(text)s"), _WAITS
    ),
    R.WAITING_UNKNOWN: Explanation(S.QUEUED, _("Waiting in the queue. The cluster says: %(text)s"), _WAITS),
    R.IN_LINE: Explanation(S.QUEUED, _("On the cluster, in the team's queue."), _WAITS),
    R.PODS_NOT_READY: Explanation(S.STARTING, _("Admitted; %(ready)s of %(pods)s pods are ready."), _WAITS),
    R.NO_NODE_FITS: Explanation(
        S.STARTING, _("Admitted, but no node has room for a pod yet: %(text)s"), _("It starts when a node is free.")
    ),
    R.PULLING_IMAGE: Explanation(S.STARTING, _("The image %(image)s is being fetched."), _WAITS),
    R.CONTAINER_RESTARTING: Explanation(
        S.STARTING,
        _("Container %(container)s of pod %(pod)s ended (%(why)s) and is started again, %(times)s times so far."),
        _("Look at its logs."),
    ),
    R.NODE_STATE_UNKNOWN: Explanation(
        S.STARTING,
        _("Node failure: node %(node)s has not answered since %(since)s, so what runs there is not known."),
        _("It goes on when the node is back, or is moved by the cluster."),
    ),
    R.NO_REPLICA_READY: Explanation(S.STARTING, _("Admitted; no replica answers yet."), _WAITS),
    R.READY: Explanation(S.RUNNING, _("Running.")),
    R.REPLICAS_WAITING: Explanation(
        S.RUNNING, _("Running with %(ready)s of %(desired)s replicas; %(queued)s wait for quota."), _SMALLER
    ),
    R.SCALED_TO_ZERO: Explanation(S.IDLE, _("Scaled to zero; a request or a click wakes it.")),
    R.STOP_REQUESTED: Explanation(S.STOPPING, _("Being stopped by %(by)s; its pods are ending.")),
    R.IDLE_RECLAIMED: Explanation(S.STOPPING, _("Idle for %(seconds)s seconds; its pods are ending.")),
    R.DEADLINE_STOPPING: Explanation(S.STOPPING, _("Its time is over; its pods are ending.")),
    R.STOPPING_UNREACHABLE: Explanation(
        S.STOPPING, _("To be stopped; the cluster has not answered since %(since)s. It goes on by itself."), _WAITS
    ),
    R.GONE_OUTSIDE: Explanation(
        S.STOPPING, _("%(kind)s %(name)s was deleted on the cluster by somebody else; its pods are ending.")
    ),
    R.STOPPED_BY_PERSON: Explanation(S.STOPPED, _("Stopped by %(by)s."), _START_AGAIN),
    R.STOPPED_IDLE: Explanation(S.STOPPED, _("Stopped because nobody used it."), _START_AGAIN),
    R.STOPPED_DEADLINE: Explanation(S.STOPPED, _("Stopped because its time was over."), _START_AGAIN),
    R.DELETED_OUTSIDE: Explanation(
        S.STOPPED, _("%(kind)s %(name)s was deleted on the cluster by somebody else."), _START_AGAIN
    ),
    R.RECORDS_BEHIND: Explanation(
        S.STOPPED, _("A later run was found on the cluster: how this one ended was not written down."), _START_AGAIN
    ),
    R.COMPLETED: Explanation(S.SUCCEEDED, _("Finished with exit code 0.")),
    R.COMPLETED_WITH_KILLS: Explanation(
        S.SUCCEEDED,
        _(
            "The cluster calls it complete, but container %(container)s of pod %(pod)s was killed for memory "
            "(limit %(limit)s)."
        ),
        _("Check its results; ask for more memory."),
    ),
    R.IMAGE_PULL: Explanation(
        S.FAILED, _("The image %(image)s cannot be pulled: %(text)s"), _("Check the image's name and start it again.")
    ),
    R.IMAGE_NEEDS_ROOT: Explanation(
        S.FAILED,
        _("The image wants to run as root, which is not allowed: %(text)s"),
        _("Use an image that runs as an ordinary user."),
    ),
    R.CONTAINER_CONFIG: Explanation(
        S.FAILED, _("Container %(container)s cannot be started: %(text)s"), _("Correct the command and start it again.")
    ),
    R.OUT_OF_MEMORY: Explanation(
        S.FAILED,
        _("Container %(container)s of pod %(pod)s was killed for memory (limit %(limit)s)."),
        _("Ask for more memory and start it again."),
    ),
    R.EXIT_CODE: Explanation(
        S.FAILED, _("Container %(container)s of pod %(pod)s ended with exit code %(code)s."), _("Look at its logs.")
    ),
    R.POD_EVICTED: Explanation(S.FAILED, _("Pod %(pod)s was evicted by its node: %(text)s"), _START_AGAIN),
    R.POD_DELETED: Explanation(
        S.FAILED, _("Pod %(pod)s was deleted from outside; nothing of the program itself had failed."), _START_AGAIN
    ),
    R.NODE_FAILURE: Explanation(S.FAILED, _("Node failure: node %(node)s of pod %(pod)s was lost."), _START_AGAIN),
    R.DEADLINE_EXCEEDED: Explanation(
        S.FAILED, _("It ran longer than its limit of %(seconds)s seconds."), _("Raise max_duration and start it again.")
    ),
    R.REQUEUED_TOO_OFTEN: Explanation(
        S.FAILED, _("The cluster gave up starting it after too many tries: %(text)s"), _START_AGAIN
    ),
    R.DEACTIVATED: Explanation(S.FAILED, _("It was taken out of the queue on the cluster: %(text)s"), _ASK_ADMIN),
    R.REJECTED: Explanation(S.FAILED, _("The cluster does not accept it: %(text)s"), _ASK_ADMIN),
    R.NAME_CONFLICT: Explanation(
        S.FAILED, _("%(kind)s %(name)s on the cluster belongs to somebody else; it was not touched."), _ASK_ADMIN
    ),
    R.DATA_GONE: Explanation(
        S.FAILED,
        _("The data is gone: volume claim %(name)s was deleted on the cluster (noticed %(since)s)."),
        _("Delete this notebook and make a new one."),
    ),
    R.UNKNOWN_FAILURE: Explanation(S.FAILED, _("It failed. The cluster says: %(text)s"), _("Look at its logs.")),
    R.DELETE_REQUESTED: Explanation(S.DELETING, _("Being deleted by %(by)s; its pods are ending.")),
    R.DELETING_UNREACHABLE: Explanation(
        S.DELETING, _("To be deleted; the cluster has not answered since %(since)s. It goes on by itself."), _WAITS
    ),
    R.DELETED: Explanation(S.DELETED, _("Deleted.")),
}


# Kueue's rules of preemption and causes of eviction, in words. Used as values of the sentences above.
RULES: Mapping[str, str] = {
    "InClusterQueue": _("higher priority in the team's own queue"),
    "InCohortReclamation": _("the owner took lent quota back"),
    "InCohortFairSharing": _("fair sharing in the cohort"),
    "InCohortReclaimWhileBorrowing": _("reclaimed while borrowing"),
    "PodsReadyTimeout": _("its pods were not ready in time"),
    "AdmissionCheck": _("a check of the cluster failed"),
}
ANOTHER_TEAM = _("another team")


# Why it was being stopped -> what it is when its pods are gone.
STOPPED_AS: Mapping[Reason, Reason] = {
    R.STOP_REQUESTED: R.STOPPED_BY_PERSON,
    R.IDLE_RECLAIMED: R.STOPPED_IDLE,
    R.DEADLINE_STOPPING: R.STOPPED_DEADLINE,
    R.GONE_OUTSIDE: R.DELETED_OUTSIDE,
}


def state_of(reason: Reason) -> State:
    """The one state that a reason belongs to."""
    return EXPLANATIONS[reason].state


def allowed(origin: State, target: State) -> bool:
    """Whether the table has this move. Staying where one is, with another reason, is no move."""
    return target in TRANSITIONS[origin]
