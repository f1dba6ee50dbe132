"""Short ways to say a queue, a workload and what the engine answered."""

from collections.abc import Iterable, Mapping

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    Decision,
    Engine,
    Evict,
    FairSharing,
    FlavorQuota,
    Fungibility,
    Pending,
    PodSet,
    Preemption,
    PreemptionPolicy,
    QueueingStrategy,
    QuotaCell,
    ResourceGroup,
    StopPolicy,
    WorkloadSpec,
)

GPU = "nvidia.com/gpu"
CPU = "cpu"

Quota = int | QuotaCell


def cell(quota: Quota) -> QuotaCell:
    """A number is a nominal quota without limits."""
    return quota if isinstance(quota, QuotaCell) else QuotaCell(quota)


def gpus(**flavors: Quota) -> tuple[ResourceGroup, ...]:
    """One group with GPUs in these flavors, in this order."""
    return (ResourceGroup((GPU,), tuple(FlavorQuota(name, {GPU: cell(quota)}) for name, quota in flavors.items())),)


def queue(
    name: str,
    *groups: ResourceGroup,
    cohort: str | None = None,
    strict: bool = False,
    within: PreemptionPolicy = PreemptionPolicy.NEVER,
    reclaim: PreemptionPolicy = PreemptionPolicy.NEVER,
    borrow_below: int | None = None,
    fungibility: Fungibility | None = None,
    weight: float = 1.0,
    stop: StopPolicy = StopPolicy.NONE,
) -> ClusterQueueSpec:
    """A ClusterQueue; `borrow_below` is the threshold of borrowWithinCohort LowerPriority."""
    return ClusterQueueSpec(
        name=name,
        cohort=cohort,
        strategy=QueueingStrategy.STRICT_FIFO if strict else QueueingStrategy.BEST_EFFORT_FIFO,
        preemption=Preemption(within, reclaim, borrow_below is not None, borrow_below),
        fungibility=fungibility or Fungibility(),
        resource_groups=groups,
        weight=weight,
        stop_policy=stop,
    )


class Cluster:
    """An engine with a clock that the test moves, and the settled state after each event."""

    def __init__(self, *queues: ClusterQueueSpec, fair: FairSharing | None = None, explains: bool = True) -> None:
        self.engine = Engine(fair, instant_release=True, explains=explains)
        self.now = 0.0
        self.running: dict[str, dict[str, str]] = {}
        self.counts: dict[str, dict[str, int]] = {}
        self.messages: dict[str, str] = {}
        self.evictions: list[tuple[str, str, str | None]] = []
        for spec in queues:
            self.engine.upsert_queue(spec, 0.0)
        self.settle()

    def settle(self) -> "Cluster":
        """Let everything come to rest."""
        settled = self.engine.settle(self.now)
        self.note(decision for _, decision in settled.decisions)
        self.now = settled.ended_at
        return self

    def note(self, decisions: Iterable[Decision]) -> None:
        """Keep what was decided."""
        for decision in decisions:
            if isinstance(decision, Admit):
                held = {
                    resource: flavor for podset in decision.assignment for resource, flavor in podset.flavors.items()
                }
                self.running[decision.key] = held
                self.counts[decision.key] = {podset.name: podset.count for podset in decision.assignment}
                self.messages.pop(decision.key, None)
            elif isinstance(decision, Evict):
                self.running.pop(decision.key, None)
                self.evictions.append((decision.key, str(decision.preempted_reason or decision.reason), decision.by))
            elif isinstance(decision, Pending):
                self.messages[decision.key] = decision.message

    def submit(
        self, key: str, to: str, count: int | Mapping[str, int], *, priority: int = 0, settle: bool = True
    ) -> None:
        """Submit one pod that asks for so many GPUs (or these resources), a few seconds after the last event."""
        requests = {GPU: count} if isinstance(count, int) else dict(count)
        self.submit_podsets(key, to, PodSet("main", 1, requests), priority=priority, settle=settle)

    def submit_podsets(self, key: str, to: str, *podsets: PodSet, priority: int = 0, settle: bool = True) -> None:
        """Submit a workload of these pod sets."""
        self.now += 3
        self.note(self.engine.submit(WorkloadSpec(key, to, priority, self.now, podsets)))
        if settle:
            self.settle()

    def finish(self, key: str) -> None:
        """A workload ends."""
        self.now += 3
        self.running.pop(key, None)
        self.engine.finish(key, self.now)
        self.settle()

    def put(self, spec: ClusterQueueSpec) -> None:
        """Change a queue."""
        self.now += 3
        self.note(self.engine.upsert_queue(spec, self.now))
        self.settle()

    def used(self, queue: str, flavor: str = "h200", resource: str = GPU) -> int:
        """What a queue has booked of a flavor."""
        return self.engine.usage(queue)[flavor][resource][0]
