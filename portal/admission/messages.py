"""The texts that Kueue writes into conditions, in its exact shapes."""

from collections.abc import Sequence

from portal.admission.decisions import PreemptionReason

_BECAUSE = {
    PreemptionReason.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    PreemptionReason.IN_COHORT_RECLAMATION: "reclamation within the cohort",
    PreemptionReason.IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}

NO_LONGER_FITS = "Workload no longer fits after processing another workload"
OVERLAPPING_TARGETS = "Workload has overlapping preemption targets with another workload"
QUEUE_STOPPED = "The ClusterQueue is stopped"
DEACTIVATED = "The workload is deactivated"


def exceeds_maximum(resource: str, flavor: str, considered: str, request: str, maximum: str) -> str:
    """More is asked than the queue could ever have; amounts as text."""
    return (
        f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests ({considered})"
        f" + current podset request ({request}) > maximum capacity ({maximum})"
    )


def more_needed(resource: str, flavor: str, missing: str) -> str:
    """The quota is in use; `missing` as text."""
    return f"insufficient unused quota for {resource} in flavor {flavor}, {missing} more needed"


def not_covered(resource: str) -> str:
    """The queue has no quota for the resource in any flavor."""
    return f"resource {resource} unavailable in ClusterQueue"


def flavor_not_matching(flavor: str) -> str:
    """The pods' node selector or affinity excludes the flavor."""
    return f"flavor {flavor} doesn't match node affinity"


def podset_failed(podset: str, reasons: Sequence[str]) -> str:
    """Why a pod set did not get its flavors."""
    return f"couldn't assign flavors to pod set {podset}: {', '.join(sorted(reasons))}"


def pending_preemption(message: str, count: int) -> str:
    """The message of a workload whose victims have been told to go."""
    return f"{message}. Pending the preemption of {count} workload(s)"


def queue_inactive(queue: str) -> str:
    """The queue is stopped or its cohorts form a loop."""
    return f"ClusterQueue {queue} is inactive"


def queue_missing(queue: str) -> str:
    """There is no such queue."""
    return f"ClusterQueue {queue} not found"


def preempted(uid: str, job_uid: str, reason: PreemptionReason, preemptor_path: str, preemptee_path: str) -> str:
    """The message of a victim's Evicted and Preempted conditions; paths as `Engine.path` gives them."""
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to {_BECAUSE[reason]};"
        f" preemptor path: {preemptor_path}; preemptee path: {preemptee_path}"
    )
