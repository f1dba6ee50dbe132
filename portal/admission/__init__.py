"""A deterministic model of Kueue's admission: which waiting workload gets which quota, who is evicted, and why not.

`Engine` is the model itself; `Replay` and `replay_forward` play it on in time.
"""

from portal.admission.decisions import (
    Admit,
    Decision,
    Evict,
    EvictionReason,
    Pending,
    PendingReason,
    PreemptionReason,
    Released,
)
from portal.admission.engine import Engine, Settled
from portal.admission.model import (
    ClusterQueueSpec,
    CohortSpec,
    FairSharing,
    FairStrategy,
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
from portal.admission.replay import Replay, replay_forward
from portal.admission.state import REQUEUE_BATCH_SECONDS

__all__ = [
    "REQUEUE_BATCH_SECONDS",
    "Admit",
    "ClusterQueueSpec",
    "CohortSpec",
    "Decision",
    "Engine",
    "Evict",
    "EvictionReason",
    "FairSharing",
    "FairStrategy",
    "FlavorQuota",
    "Fungibility",
    "FungibilityPolicy",
    "FungibilityPreference",
    "Pending",
    "PendingReason",
    "PodSet",
    "PodSetAssignment",
    "Preemption",
    "PreemptionPolicy",
    "PreemptionReason",
    "QueueingStrategy",
    "QuotaCell",
    "Released",
    "Replay",
    "ResourceGroup",
    "Settled",
    "StopPolicy",
    "WorkloadSpec",
    "replay_forward",
]
