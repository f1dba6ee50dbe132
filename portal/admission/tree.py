"""What is held in a tree of queues: by cell and priority, in the order among victims, and a stamp for each change.

A stamp names a state of one cell in one tree. No two states share one, in any engine or fork: whoever keeps something
that depends on a cell keeps its stamp too, and may use it again for as long as the stamp is the cell's own.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import count
from typing import TYPE_CHECKING

from portal.admission.workloads import Holder

if TYPE_CHECKING:
    from portal.admission.nodes import QuotaNode
    from portal.admission.queue import Queue

Held = dict[int, dict[int, int]]
# The order among victims (see `Holder.rank`); keys are unique, so the holders themselves are never compared.
Ranked = list[tuple[int, int, str, Holder]]
_STAMPS = count(1)


def count_held(held: Held, holder: Holder, sign: int) -> None:
    """Add what a workload holds to sums by cell and priority, or take it off (sign -1)."""
    priority = holder.workload.priority
    for cell, amount in holder.usage:
        by_priority = held.get(cell)
        if by_priority is None:
            by_priority = held[cell] = {}
        by_priority[priority] = by_priority.get(priority, 0) + sign * amount


class Tree:
    """Queues that hang together, by their root. `flat`: no cohort below the root; `plain`: flat and without limits."""

    __slots__ = (
        "_ranked",
        "any_parked",
        "flat",
        "held",
        "name",
        "plain",
        "proof",
        "proved",
        "queues",
        "root",
        "stamp",
        "stamps",
    )

    def __init__(self, name: tuple[str, str], root: QuotaNode, cells: int) -> None:
        self.name = name
        self.root = root
        self.queues: list[Queue] = []
        self.held: Held = {}
        self.flat = all(child.is_queue for child in root.children)
        self.plain = self.flat and all(node.shares_all for node in (root, *root.children))
        # Whether any queue's line may have parked workloads.
        self.any_parked = True
        self._ranked: dict[int, Ranked] = {}
        self.stamp = next(_STAMPS)
        self.stamps = [self.stamp] * cells
        # The last look at who has a chance: its name, and the stamps of that moment.
        self.proof = 0
        self.proved: list[int] = [0] * cells

    def adopt(self, queue: Queue) -> None:
        """Take in a queue with what is held in it."""
        self.join(queue)
        queue.stamp = self.stamp
        for holder in queue.holders.values():
            count_held(self.held, holder, 1)

    def join(self, queue: Queue) -> None:
        """Take in a queue whose holders are counted already."""
        self.queues.append(queue)
        queue.tree = self
        queue.pool = self.root if self.plain and queue.node is not self.root else None

    def restamp(self) -> None:
        """Every cell may be judged differently from now on."""
        self.stamp = next(_STAMPS)
        self.stamps = [self.stamp] * len(self.stamps)
        for queue in self.queues:
            queue.stamp = self.stamp

    def prove(self) -> None:
        """Begin a new look at who has a chance."""
        self.proof = next(_STAMPS)
        self.proved = list(self.stamps)

    def stamp_cells(self, holder: Holder) -> None:
        """What a workload holds counts differently from now on."""
        self.stamp = next(_STAMPS)
        for cell in holder.cells:
            self.stamps[cell] = self.stamp

    def count(self, holder: Holder, sign: int) -> None:
        """Count what a workload holds (sign 1) or no longer holds (sign -1)."""
        count_held(self.held, holder, sign)
        self.stamp_cells(holder)
        for cell in holder.cells:
            ranked = self._ranked.get(cell)
            if ranked is None:
                continue
            if sign > 0:
                insort(ranked, (*holder.rank, holder))
            else:
                del ranked[bisect_left(ranked, holder.rank)]

    def ranked(self, cell: int) -> Ranked:
        """Everybody who was assigned a cell, in the order among victims."""
        found = self._ranked.get(cell)
        if found is None:
            users = (holder for queue in self.queues for holder in queue.users_of(cell))
            found = self._ranked[cell] = sorted((*holder.rank, holder) for holder in users)
        return found

    def copy(self, root: QuotaNode) -> Tree:
        """An independent copy without queues yet; the same state, so with the same stamps."""
        twin = Tree.__new__(Tree)
        twin.name, twin.root, twin.queues = self.name, root, []
        twin.held = {cell: dict(amounts) for cell, amounts in self.held.items()}
        twin.flat, twin.plain, twin.any_parked = self.flat, self.plain, self.any_parked
        twin._ranked = {cell: list(ranked) for cell, ranked in self._ranked.items()}
        twin.stamp, twin.stamps = self.stamp, list(self.stamps)
        twin.proof, twin.proved = self.proof, self.proved
        return twin
