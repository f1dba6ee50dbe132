"""The forest of queues and cohorts as specified: builds the quota nodes and answers where a queue stands."""

from dataclasses import dataclass, field, replace

from portal.admission.model import ClusterQueueSpec, CohortSpec, PreemptionPolicy, ResourceGroup, StopPolicy
from portal.admission.nodes import QuotaNode
from portal.admission.queues import WaitingLine
from portal.admission.workloads import Workload


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


@dataclass(slots=True)
class GroupPlan:
    """A resource group prepared for the search: per flavor its name and the cells by resource."""

    resources: tuple[str, ...]
    flavors: tuple[tuple[str, dict[str, int]], ...]


@dataclass(slots=True)
class Queue:
    """A ClusterQueue at work. `generation` grows when capacity may have come back (it ages recorded scans)."""

    spec: ClusterQueueSpec
    node: QuotaNode
    line: WaitingLine = field(default_factory=WaitingLine)
    holders: dict[str, Workload] = field(default_factory=dict)
    plans: tuple[GroupPlan, ...] = ()
    groups: dict[str, GroupPlan] = field(default_factory=dict)
    # Its holders by the cells that they use, gathered when first asked for; kept up to date from then on.
    users: dict[int, dict[str, Workload]] | None = None
    # What its holders use, by cell and priority.
    held: dict[int, dict[int, int]] = field(default_factory=dict)
    root: tuple[str, str] = ("queue", "")
    generation: int = 0
    # Grows with every change of its booked usage or of any quota.
    version: int = 0
    in_cycle: bool = False
    never_preempts: bool = True

    def users_of(self, cell: int) -> list[Workload]:
        """The holders that were assigned this cell."""
        if self.users is None:
            self.users = {}
            for holder in self.holders.values():
                for used in holder.cells:
                    self.users.setdefault(used, {})[holder.spec.key] = holder
        return list(self.users.get(cell, {}).values())

    @property
    def active(self) -> bool:
        """Whether it admits at all."""
        return self.spec.stop_policy is StopPolicy.NONE and not self.in_cycle


class Forest:
    """All queues and cohorts with their quota nodes."""

    def __init__(self) -> None:
        self.cells = CellIndex()
        self.queues: dict[str, Queue] = {}
        self.cohort_specs: dict[str, CohortSpec] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        # The queues of each tree; a tree is what is un-parked together, named by its root.
        self.trees: dict[tuple[str, str], list[Queue]] = {}
        # What is held in each tree, by cell and priority.
        self._held: dict[tuple[str, str], dict[int, dict[int, int]]] = {}
        # Grows with every change of what is held anywhere.
        self.version = 0

    def put_queue(self, spec: ClusterQueueSpec) -> Queue:
        """Add or replace a queue's specification; its workloads stay."""
        queue = self.queues.get(spec.name)
        if queue is None:
            queue = self.queues[spec.name] = Queue(spec, QuotaNode(spec.name, is_queue=True))
        queue.spec = spec
        queue.node.weight = spec.weight
        queue.plans = tuple(self._plan(group) for group in spec.resource_groups)
        queue.groups = {name: plan for plan in queue.plans for name in plan.resources}
        preemption = spec.preemption
        queue.never_preempts = preemption.within_queue is PreemptionPolicy.NEVER and (
            spec.cohort is None or preemption.reclaim_within_cohort is PreemptionPolicy.NEVER
        )
        self.rebuild()
        return queue

    def _plan(self, group: ResourceGroup) -> GroupPlan:
        flavors = tuple(
            (flavor.name, {name: self.cells.number(flavor.name, name) for name in group.resources})
            for flavor in group.flavors
        )
        return GroupPlan(group.resources, flavors)

    def rebuild(self) -> None:
        """Link the nodes as the specifications say and derive all quota and cohort usage again."""
        for spec in self.cohort_specs.values():
            self._number(spec.resource_groups)
        named = {queue.spec.cohort for queue in self.queues.values() if queue.spec.cohort is not None}
        named.update(self.cohort_specs)
        named.update(spec.parent for spec in self.cohort_specs.values() if spec.parent is not None)
        for name in self.cohorts.keys() - named:
            del self.cohorts[name]
        for name in sorted(named):
            node = self.cohorts.setdefault(name, QuotaNode(name, is_queue=False))
            spec_of = self.cohort_specs.get(name)
            node.weight = 1.0 if spec_of is None else spec_of.weight
            node.parent = None
            node.children = []
            self._fill(node, () if spec_of is None else spec_of.resource_groups)
        self._link()
        self.trees = {}
        self._held = {}
        self.version += 1
        for queue in self.queues.values():
            queue.generation += 1
            queue.version += 1
            root = queue.node.root()
            queue.root = ("queue" if root.is_queue else "cohort", root.name)
            self.trees.setdefault(queue.root, []).append(queue)
            for cell, amounts in queue.held.items():
                for priority, amount in amounts.items():
                    self._count(self.held_in(queue.root), cell, priority, amount)

    def held_in(self, root: tuple[str, str]) -> dict[int, dict[int, int]]:
        """What the workloads of a tree hold, by cell and priority."""
        return self._held.setdefault(root, {})

    def book(self, queue: Queue, workload: Workload, sign: int) -> None:
        """Count what a workload holds (sign 1) or no longer holds (sign -1)."""
        queue.version += 1
        self.version += 1
        tree = self.held_in(queue.root)
        if queue.users is not None:
            for cell in workload.cells:
                users = queue.users.setdefault(cell, {})
                if sign > 0:
                    users[workload.spec.key] = workload
                else:
                    users.pop(workload.spec.key, None)
        for cell, amount in workload.usage:
            self._count(queue.held, cell, workload.spec.priority, sign * amount)
            self._count(tree, cell, workload.spec.priority, sign * amount)

    @staticmethod
    def _count(held: dict[int, dict[int, int]], cell: int, priority: int, amount: int) -> None:
        by_priority = held.setdefault(cell, {})
        by_priority[priority] = by_priority.get(priority, 0) + amount

    def _number(self, groups: tuple[ResourceGroup, ...]) -> None:
        for group in groups:
            for flavor in group.flavors:
                for name in group.resources:
                    self.cells.number(flavor.name, name)

    def _fill(self, node: QuotaNode, groups: tuple[ResourceGroup, ...]) -> None:
        size = len(self.cells.names)
        node.nominal = [0] * size
        node.borrowing_limit = [None] * size
        node.lending_limit = [None] * size
        node.local_quota = [0] * size
        node.usage += [0] * (size - len(node.usage))
        for group in groups:
            for flavor in group.flavors:
                for name, quota in flavor.resources.items():
                    cell = self.cells.number(flavor.name, name)
                    node.nominal[cell] = quota.nominal
                    node.borrowing_limit[cell] = quota.borrowing_limit
                    node.lending_limit[cell] = quota.lending_limit

    def _link(self) -> None:
        looped = {name for name in self.cohorts if self._loops(name)}
        for name, node in self.cohorts.items():
            spec = self.cohort_specs.get(name)
            if spec is not None and spec.parent is not None and name not in looped:
                node.attach(self.cohorts[spec.parent])
        for queue in self.queues.values():
            node, cohort = queue.node, queue.spec.cohort
            self._fill(node, queue.spec.resource_groups)
            node.parent = None
            queue.in_cycle = cohort in looped
            node.listed = queue.active
            if cohort is not None:
                node.attach(self.cohorts[cohort])
        for node in (*self.cohorts.values(), *(queue.node for queue in self.queues.values())):
            if node.parent is None:
                node.recompute()

    def _loops(self, name: str) -> bool:
        """Whether following parents from this cohort never ends."""
        seen: set[str] = set()
        at: str | None = name
        while at is not None:
            if at in seen:
                return True
            seen.add(at)
            spec = self.cohort_specs.get(at)
            at = None if spec is None else spec.parent
        return False

    def copy(self, workloads: dict[str, Workload]) -> "Forest":
        """An independent copy over copied workloads; what only a rebuild replaces is shared."""
        twin = Forest()
        twin.cells.names = list(self.cells.names)
        twin.cells.numbers = dict(self.cells.numbers)
        twin.cohort_specs = dict(self.cohort_specs)
        twin.cohorts = {name: node.copy() for name, node in self.cohorts.items()}
        for name, node in self.cohorts.items():
            if node.parent is not None:
                twin.cohorts[name].attach(twin.cohorts[node.parent.name])
        for name, queue in self.queues.items():
            copy = twin.queues[name] = replace(
                queue,
                node=queue.node.copy(),
                line=queue.line.copy(workloads),
                holders={key: workloads[key] for key in queue.holders},
                users=None,
                held={cell: dict(amounts) for cell, amounts in queue.held.items()},
            )
            twin.trees.setdefault(copy.root, []).append(copy)
            if queue.node.parent is not None:
                copy.node.attach(twin.cohorts[queue.node.parent.name])
        twin._held = {
            root: {cell: dict(amounts) for cell, amounts in held.items()} for root, held in self._held.items()
        }
        return twin
