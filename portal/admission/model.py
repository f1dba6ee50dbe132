"""What the admission model is told: queues, cohorts, quotas and workloads, in Kueue's words (API v1beta2).

Amounts are integers in a unit of the caller's choice, the same for a resource everywhere (cards, milli-CPU, bytes).
Times are seconds on any clock; only their order and, for the requeue batch, their distance matter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class QueueingStrategy(StrEnum):
    """What a head that does not fit does to those behind it: nothing, or block them."""

    BEST_EFFORT_FIFO = "BestEffortFIFO"
    STRICT_FIFO = "StrictFIFO"


class PreemptionPolicy(StrEnum):
    """Which running workloads may be evicted, seen from the incoming one."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER_EQUAL_PRIORITY = "LowerOrNewerEqualPriority"
    ANY = "Any"


class FungibilityPolicy(StrEnum):
    """Whether the search for a flavor ends at one that would borrow or preempt, or looks at the next."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


class FungibilityPreference(StrEnum):
    """What weighs more when no flavor is free of both."""

    BORROWING_OVER_PREEMPTION = "BorrowingOverPreemption"
    PREEMPTION_OVER_BORROWING = "PreemptionOverBorrowing"


class StopPolicy(StrEnum):
    """A stopped queue admits nobody; a drained one also evicts everybody."""

    NONE = "None"
    HOLD = "Hold"
    HOLD_AND_DRAIN = "HoldAndDrain"


class FairStrategy(StrEnum):
    """When fair sharing may evict: by the victim's share after the eviction, or before it."""

    LESS_THAN_OR_EQUAL_TO_FINAL_SHARE = "LessThanOrEqualToFinalShare"
    LESS_THAN_INITIAL_SHARE = "LessThanInitialShare"


@dataclass(frozen=True, slots=True)
class QuotaCell:
    """The quota of one flavor and resource at one queue or cohort; a limit of None is unlimited."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """One flavor of a resource group with its cells by resource name."""

    name: str
    resources: Mapping[str, QuotaCell]


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that always get the same flavor; `flavors` in the order in which they are tried."""

    resources: tuple[str, ...]
    flavors: tuple[FlavorQuota, ...]


@dataclass(frozen=True, slots=True)
class Preemption:
    """A queue's preemption settings. `borrow_within_cohort` and its threshold count in classic preemption only."""

    within_queue: PreemptionPolicy = PreemptionPolicy.NEVER
    reclaim_within_cohort: PreemptionPolicy = PreemptionPolicy.NEVER
    borrow_within_cohort: bool = False
    max_priority_threshold: int | None = None


@dataclass(frozen=True, slots=True)
class Fungibility:
    """A queue's `flavorFungibility`."""

    when_can_borrow: FungibilityPolicy = FungibilityPolicy.MAY_STOP_SEARCH
    when_can_preempt: FungibilityPolicy = FungibilityPolicy.TRY_NEXT_FLAVOR
    preference: FungibilityPreference = FungibilityPreference.BORROWING_OVER_PREEMPTION


@dataclass(frozen=True, slots=True)
class ClusterQueueSpec:
    """A ClusterQueue. `weight` is its fair-sharing weight; 0 means an infinite share as soon as it borrows."""

    name: str
    cohort: str | None = None
    strategy: QueueingStrategy = QueueingStrategy.BEST_EFFORT_FIFO
    preemption: Preemption = field(default_factory=Preemption)
    fungibility: Fungibility = field(default_factory=Fungibility)
    resource_groups: tuple[ResourceGroup, ...] = ()
    weight: float = 1.0
    stop_policy: StopPolicy = StopPolicy.NONE


@dataclass(frozen=True, slots=True)
class CohortSpec:
    """A Cohort object. A cohort that is only named by its members exists too, without quota and parent."""

    name: str
    parent: str | None = None
    weight: float = 1.0
    resource_groups: tuple[ResourceGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of a workload: `requests` per pod, `min_count` the fewest pods that partial admission may leave.

    `flavors_allowed` is what node selectors, affinities and taints leave over; None allows every flavor.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    min_count: int | None = None
    flavors_allowed: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """A Workload: `queue` names the ClusterQueue, `created` orders equals of one priority (earlier first)."""

    key: str
    queue: str
    priority: int
    created: float
    podsets: tuple[PodSet, ...]


@dataclass(frozen=True, slots=True)
class FairSharing:
    """Cluster-wide fair sharing, with its preemption strategies in the order in which they are tried."""

    strategies: tuple[FairStrategy, ...] = (
        FairStrategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,
        FairStrategy.LESS_THAN_INITIAL_SHARE,
    )


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """What one pod set of an admitted workload holds: a flavor by resource, for `count` pods."""

    name: str
    flavors: Mapping[str, str]
    count: int
