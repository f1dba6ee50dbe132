"""What the admission model answers: decisions in the order in which Kueue would write them down."""

from dataclasses import dataclass
from enum import StrEnum

from portal.admission.model import PodSetAssignment


class EvictionReason(StrEnum):
    """Reasons of the Evicted condition that the model itself gives; callers may pass others to `Engine.evict`."""

    PREEMPTED = "Preempted"
    CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
    DEACTIVATED = "Deactivated"


class PreemptionReason(StrEnum):
    """Reasons of the Preempted condition."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


class PendingReason(StrEnum):
    """Reasons of a QuotaReserved condition that is False."""

    PENDING = "Pending"
    INADMISSIBLE = "Inadmissible"


@dataclass(frozen=True, slots=True)
class Admit:
    """`key` holds quota in `queue` from now on, with these flavors and counts."""

    key: str
    queue: str
    assignment: tuple[PodSetAssignment, ...]


@dataclass(frozen=True, slots=True)
class Evict:
    """`key` must stop; its quota stays booked until it is released.

    `preempted_reason` and `by` (the preemptor's key) are set when `reason` is Preempted.
    """

    key: str
    reason: str
    preempted_reason: PreemptionReason | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """`key` was tried and stays in the queue, with the message of its QuotaReserved condition."""

    key: str
    message: str
    reason: PendingReason = PendingReason.PENDING


@dataclass(frozen=True, slots=True)
class Released:
    """`key`, evicted before, has given its quota back and waits again (or is inactive)."""

    key: str


Decision = Admit | Evict | Pending | Released
