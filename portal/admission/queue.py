"""A ClusterQueue at work: its specification prepared for the search, who waits in it and who holds its quota."""

from portal.admission.asks import Ask, GroupPlan, ask_of
from portal.admission.fungibility import Rules
from portal.admission.model import ClusterQueueSpec, PreemptionPolicy, QueueingStrategy, StopPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.tree import Held, Tree, count_held
from portal.admission.waiting import WaitingLine
from portal.admission.workloads import Holder, Shape, Workload


class CellIndex:
    """Numbers for pairs of flavor and resource, given out once and kept."""

    __slots__ = ("names", "numbers")

    def __init__(self) -> None:
        self.names: list[tuple[str, str]] = []
        self.numbers: dict[tuple[str, str], int] = {}

    def number(self, flavor: str, resource: str) -> int:
        """The cell of this flavor and resource."""
        cell = self.numbers.get((flavor, resource))
        if cell is None:
            cell = self.numbers[flavor, resource] = len(self.names)
            self.names.append((flavor, resource))
        return cell

    def copy(self) -> "CellIndex":
        """An independent copy."""
        twin = CellIndex()
        twin.names = list(self.names)
        twin.numbers = dict(self.numbers)
        return twin


class Asks(dict[Shape, Ask]):
    """What workloads of each shape ask of a queue with these groups (by resource), worked out when first wanted."""

    __slots__ = ("_groups",)

    def __init__(self, groups: dict[str, GroupPlan]) -> None:
        super().__init__()
        self._groups = groups

    def __missing__(self, shape: Shape) -> Ask:
        ask = self[shape] = ask_of(self._groups, shape.podsets)
        return ask


class Queue:
    """A ClusterQueue. `generation` grows when capacity may have come back (it ages recorded scans)."""

    __slots__ = (
        "_users",
        "active",
        "asks",
        "by_age",
        "forces",
        "generation",
        "groups",
        "held",
        "holders",
        "in_cycle",
        "line",
        "never_preempts",
        "never_reclaims",
        "node",
        "plans",
        "pool",
        "rules",
        "spec",
        "stamp",
        "stopped",
        "strict",
        "tree",
    )

    def __init__(self, spec: ClusterQueueSpec, node: QuotaNode) -> None:
        self.spec = spec
        self.node = node
        self.line = WaitingLine()
        self.holders: dict[str, Holder] = {}
        # What its holders use, by cell and priority.
        self.held: Held = {}
        # Set by the forest when it is rebuilt.
        self.tree = Tree(("queue", spec.name), node, 0)
        # The root of a flat cohort without limits, where what is free for one is free for all.
        self.pool: QuotaNode | None = None
        # Names a state of what its own workloads hold.
        self.stamp = 0
        self.in_cycle = False
        self.active = True
        self.generation = 0
        # Its holders by the cells that they use, gathered when first asked for; kept up to date from then on.
        self._users: dict[int, dict[str, Holder]] | None = None
        self.specify(spec, ())

    def specify(self, spec: ClusterQueueSpec, plans: tuple[GroupPlan, ...]) -> None:
        """Take a specification; the forest must be rebuilt afterwards."""
        self.spec = spec
        self.node.weight = spec.weight
        self.plans = plans
        self.groups = {name: plan for plan in plans for name in plan.resources}
        self.stopped = spec.stop_policy is not StopPolicy.NONE
        self.strict = spec.strategy is QueueingStrategy.STRICT_FIFO
        preemption = spec.preemption
        self.never_reclaims = spec.cohort is None or preemption.reclaim_within_cohort is PreemptionPolicy.NEVER
        self.never_preempts = self.never_reclaims and preemption.within_queue is PreemptionPolicy.NEVER
        # Whether it may evict others for what it would borrow, in classic preemption and under fair sharing.
        self.forces = preemption.borrow_within_cohort, preemption.borrow_within_cohort or not self.never_reclaims
        self.rules = Rules(spec.fungibility)
        newer = PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
        self.by_age = newer in (preemption.within_queue, preemption.reclaim_within_cohort)
        # Shared by forks, and only ever replaced: what the specification makes of each shape.
        self.asks = Asks(self.groups)

    def park(self, workload: Workload) -> None:
        """Park a head that was rejected, with its class."""
        self.line.park(workload.shape)
        self.tree.any_parked = True

    def hold(self, holder: Holder) -> None:
        """Take in a workload that holds quota."""
        self.holders[holder.key] = holder
        if self._users is not None:
            for cell in holder.cells:
                self._users.setdefault(cell, {})[holder.key] = holder
        count_held(self.held, holder, 1)

    def let_go(self, key: str) -> Holder | None:
        """Forget a workload that held quota, if it did."""
        holder = self.holders.pop(key, None)
        if holder is not None:
            if self._users is not None:
                for cell in holder.cells:
                    self._users[cell].pop(key, None)
            count_held(self.held, holder, -1)
        return holder

    def users_of(self, cell: int) -> list[Holder]:
        """The holders that were assigned this cell."""
        if self._users is None:
            self._users = {}
            for holder in self.holders.values():
                for used in holder.cells:
                    self._users.setdefault(used, {})[holder.key] = holder
        return list(self._users.get(cell, {}).values())

    def copy(self, node: QuotaNode) -> "Queue":
        """An independent copy with the given node, in no tree yet."""
        twin = Queue.__new__(Queue)
        twin.spec, twin.node, twin.line = self.spec, node, self.line.copy()
        twin.holders = dict(self.holders)
        twin.held = {cell: dict(amounts) for cell, amounts in self.held.items()}
        twin.in_cycle, twin.active, twin.generation = self.in_cycle, self.active, self.generation
        twin._users, twin.stamp = None, self.stamp
        twin.plans, twin.groups, twin.asks = self.plans, self.groups, self.asks
        twin.rules, twin.forces = self.rules, self.forces
        twin.stopped, twin.strict, twin.by_age = self.stopped, self.strict, self.by_age
        twin.never_reclaims, twin.never_preempts = self.never_reclaims, self.never_preempts
        return twin
