"""The forest of queues and cohorts as specified: builds the quota nodes and answers where a queue stands."""

from portal.admission.asks import GroupPlan
from portal.admission.model import ClusterQueueSpec, CohortSpec, ResourceGroup, WorkloadSpec
from portal.admission.nodes import QuotaNode
from portal.admission.queue import CellIndex, Queue
from portal.admission.tree import Tree
from portal.admission.workloads import Holder, Shape, ShapeKey, Workload, shape_key

Root = tuple[str, str]


class Forest:
    """All queues and cohorts with their quota nodes."""

    def __init__(self) -> None:
        self.cells = CellIndex()
        self.queues: dict[str, Queue] = {}
        self.cohort_specs: dict[str, CohortSpec] = {}
        self.cohorts: dict[str, QuotaNode] = {}
        # What is un-parked together, by the name of its root.
        self.trees: dict[Root, Tree] = {}
        # Evicted workloads that still hold quota.
        self.leaving: dict[str, Holder] = {}
        self._shapes: dict[ShapeKey, Shape] = {}

    def workload(self, spec: WorkloadSpec) -> Workload:
        """A workload with its shape."""
        key = shape_key(spec)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(spec)
        return Workload(spec, shape)

    def put_queue(self, spec: ClusterQueueSpec) -> Queue:
        """Add or replace a queue's specification; its workloads stay."""
        queue = self.queues.get(spec.name)
        if queue is None:
            queue = self.queues[spec.name] = Queue(spec, QuotaNode(spec.name, is_queue=True))
        queue.specify(spec, tuple(self._plan(group) for group in spec.resource_groups))
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
        self._plant()

    def _plant(self) -> None:
        """Make the trees anew, with what is held in them."""
        self.trees = {}
        for queue in self.queues.values():
            queue.generation += 1
            root = queue.node.root()
            name = "queue" if root.is_queue else "cohort", root.name
            tree = self.trees.get(name)
            if tree is None:
                tree = self.trees[name] = Tree(name, root, len(self.cells.names))
            tree.adopt(queue)

    def restamp(self) -> None:
        """Forget what was found out about any workload: the rules have changed."""
        for tree in self.trees.values():
            tree.restamp()

    def hold(self, holder: Holder) -> None:
        """Count what a workload holds from now on, without booking its usage."""
        queue = self.queues[holder.queue]
        queue.hold(holder)
        queue.tree.count(holder, 1)
        queue.stamp = queue.tree.stamp

    def let_go(self, queue: Queue, key: str) -> bool:
        """Give back what a workload holds, with its usage; whether it held anything."""
        holder = queue.let_go(key)
        if holder is None:
            return False
        for cell, amount in holder.usage:
            queue.node.remove(cell, amount)
        self.leaving.pop(key, None)
        queue.tree.count(holder, -1)
        queue.stamp = queue.tree.stamp
        queue.generation += 1
        return True

    def tell_to_go(self, holder: Holder) -> None:
        """From now on the workload only holds quota until its pods are gone."""
        self.leaving[holder.key] = holder
        self.queues[holder.queue].tree.stamp_cells(holder)

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
            node.listed = queue.active = not queue.stopped and cohort not in looped
            queue.in_cycle = cohort in looped
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

    def copy(self) -> "Forest":
        """An independent copy; what is never changed, or only replaced by a rebuild, is shared."""
        twin = Forest()
        twin.cells = self.cells.copy()
        twin.cohort_specs = dict(self.cohort_specs)
        twin.leaving = dict(self.leaving)
        twin._shapes = self._shapes
        twin.cohorts = {name: node.copy() for name, node in self.cohorts.items()}
        for name, node in self.cohorts.items():
            if node.parent is not None:
                twin.cohorts[name].attach(twin.cohorts[node.parent.name])
        for name, queue in self.queues.items():
            node = queue.node.copy()
            if queue.node.parent is not None:
                node.attach(twin.cohorts[queue.node.parent.name])
            copy = twin.queues[name] = queue.copy(node)
            tree = twin.trees.get(queue.tree.name)
            if tree is None:
                tree = twin.trees[queue.tree.name] = queue.tree.copy(node.root())
            tree.join(copy)
        return twin
