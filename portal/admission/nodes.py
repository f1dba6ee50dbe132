"""The quota tree: one node a queue or cohort, with quota and usage by cell (a flavor and a resource, as an index).

Usage is what counts at a node: all of it at a queue, at a cohort what its children use beyond the quota that they
keep to themselves by a lending limit. The arithmetic is Kueue's (its KEP on hierarchical cohorts).
"""

from collections.abc import Iterator


class QuotaNode:
    """Quota and usage of a queue or cohort. Lists are indexed by cell and have one common length."""

    __slots__ = (
        "borrowing_limit",
        "children",
        "height",
        "is_queue",
        "lending_limit",
        "listed",
        "local_quota",
        "name",
        "nominal",
        "parent",
        "shares_all",
        "subtree",
        "usage",
        "weight",
    )

    def __init__(self, name: str, *, is_queue: bool, weight: float = 1.0) -> None:
        self.name = name
        self.is_queue = is_queue
        self.weight = weight
        # A stopped queue keeps its quota and usage in the tree, and is no member when heights are counted.
        self.listed = True
        # No limits in either direction: what is free at the parent is what is free here.
        self.shares_all = False
        self.parent: QuotaNode | None = None
        self.children: list[QuotaNode] = []
        self.height = 0
        self.nominal: list[int] = []
        self.borrowing_limit: list[int | None] = []
        self.lending_limit: list[int | None] = []
        self.subtree: list[int] = []
        self.local_quota: list[int] = []
        self.usage: list[int] = []

    def attach(self, parent: "QuotaNode") -> None:
        """Become a child of `parent`."""
        self.parent = parent
        parent.children.append(self)

    def copy(self) -> "QuotaNode":
        """An unattached copy with usage of its own; quota is shared, since it is only ever replaced."""
        twin = QuotaNode(self.name, is_queue=self.is_queue, weight=self.weight)
        twin.listed, twin.height, twin.shares_all = self.listed, self.height, self.shares_all
        twin.nominal, twin.borrowing_limit, twin.lending_limit = self.nominal, self.borrowing_limit, self.lending_limit
        twin.subtree, twin.local_quota = self.subtree, self.local_quota
        twin.usage = list(self.usage)
        return twin

    def path(self) -> Iterator["QuotaNode"]:
        """The ancestors, from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> "QuotaNode":
        """The node without a parent above this one, or this one."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def local_available(self, cell: int) -> int:
        """Quota that only this subtree can see and that is free."""
        return max(0, self.local_quota[cell] - self.usage[cell])

    def available_now(self, cell: int) -> int:
        """What may still be used here; negative when quota was lowered below the use."""
        if self.parent is None:
            return self.subtree[cell] - self.usage[cell]
        above = self.parent.available_now(cell)
        local, used = self.local_quota[cell], self.usage[cell]
        limit = self.borrowing_limit[cell]
        if limit is not None:
            above = min(above, self.subtree[cell] - local - max(0, used - local) + limit)
        return max(0, local - used) + above

    def available(self, cell: int) -> int:
        """What a new workload may use here, with borrowing and without preemption; never negative."""
        return max(0, self.available_now(cell))

    def maximum(self, cell: int) -> int:
        """What a workload could use here if nobody else used anything."""
        if self.parent is None:
            return self.subtree[cell]
        total = self.local_quota[cell] + self.parent.maximum(cell)
        limit = self.borrowing_limit[cell]
        return total if limit is None else min(self.subtree[cell] + limit, total)

    def borrowing_with(self, cell: int, amount: int) -> bool:
        """Whether `amount` more would take this node above its own quota."""
        return self.subtree[cell] < self.usage[cell] + amount

    def add(self, cell: int, amount: int) -> None:
        """Book usage here, and above as far as it exceeds the quota that stays here."""
        node: QuotaNode | None = self
        while node is not None:
            spare = node.local_quota[cell] - node.usage[cell]
            node.usage[cell] += amount
            if spare > 0:
                amount -= spare
            if amount <= 0:
                return
            node = node.parent

    def remove(self, cell: int, amount: int) -> None:
        """Give usage back; the inverse of `add`."""
        node: QuotaNode | None = self
        while node is not None:
            stored_above = node.usage[cell] - node.local_quota[cell]
            node.usage[cell] -= amount
            if stored_above <= 0:
                return
            amount = min(amount, stored_above)
            node = node.parent

    def recompute(self) -> None:
        """Derive subtree quota, heights and the cohorts' usage of this subtree from what the leaves hold."""
        if not self.is_queue:
            self.usage = [0] * len(self.nominal)
        self.subtree = list(self.nominal)
        self.height = 1 if any(child.listed for child in self.children) else 0
        for child in self.children:
            child.recompute()
            if not child.is_queue:
                self.height = max(self.height, child.height + 1)
            for cell, quota in enumerate(child.subtree):
                self.subtree[cell] += quota - child.local_quota[cell]
                self.usage[cell] += max(0, child.usage[cell] - child.local_quota[cell])
        self.shares_all = not any(
            limit is not None for limits in (self.borrowing_limit, self.lending_limit) for limit in limits
        )
        self.local_quota = [
            0 if limit is None else max(0, quota - limit)
            for quota, limit in zip(self.subtree, self.lending_limit, strict=True)
        ]


def within_nominal(node: QuotaNode, cells: frozenset[int]) -> bool:
    """Whether the node uses no more than its subtree's quota in each of the cells."""
    subtree, usage = node.subtree, node.usage
    return all(subtree[cell] >= usage[cell] for cell in cells)


def children_over_nominal(node: QuotaNode, cells: frozenset[int]) -> list[QuotaNode]:
    """The children that use more than their subtree's quota in any of the cells."""
    if len(cells) == 1:
        (cell,) = cells
        return [child for child in node.children if child.usage[cell] > child.subtree[cell]]
    return [child for child in node.children if not within_nominal(child, cells)]


def fits_in_quota(node: QuotaNode, requests: dict[int, int]) -> tuple[bool, dict[int, int]]:
    """Whether the requests fit in the node's own quota, and what of them its parent would have to carry."""
    fits = all(node.subtree[cell] >= node.usage[cell] + amount for cell, amount in requests.items())
    rest = {cell: max(0, amount - node.local_available(cell)) for cell, amount in requests.items()}
    return fits, rest


def borrowing_height(node: QuotaNode, cell: int, amount: int) -> tuple[int, bool]:
    """How far up the quota for `amount` more comes from (0: the queue itself), and whether that is below the root."""
    if node.parent is None or not node.borrowing_with(cell, amount):
        return 0, node.parent is not None
    remaining = amount - node.local_available(cell)
    last = node
    for ancestor in node.path():
        if not ancestor.borrowing_with(cell, remaining):
            return ancestor.height, ancestor.parent is not None
        remaining -= ancestor.local_available(cell)
        last = ancestor
    return last.height, False
