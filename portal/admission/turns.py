"""Whose turn it is within one cycle: the order in which the heads of all queues are processed."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from portal.admission.judgements import Search, Target
from portal.admission.nodes import QuotaNode
from portal.admission.queue import Queue
from portal.admission.shares import Share, ShareBook
from portal.admission.workloads import Order, Workload


class Outcome(Enum):
    """What became of a head."""

    ADMITTED = auto()
    PREEMPTING = auto()
    SKIPPED = auto()
    REJECTED = auto()


@dataclass(slots=True, eq=False)
class Entry:
    """A head in a cycle: what it would get, who would have to go for it, and in the end what became of it.

    `message` is empty for an admission.
    """

    queue: Queue
    workload: Workload
    search: Search
    targets: list[Target]
    outcome: Outcome = Outcome.REJECTED
    message: str = ""


def classic_order(entries: list[Entry]) -> list[Entry]:
    """Fewer borrowing levels first, then the queue order."""
    return entries if len(entries) == 1 else sorted(entries, key=classic_rank)


def classic_rank(entry: Entry) -> tuple[int, Order]:
    """A head's place in the order of its cycle."""
    return entry.search.height, entry.workload.order


def fair_order(entries: list[Entry], book: ShareBook) -> Iterator[Entry]:
    """A tournament per cohort, run anew for each turn since usage changes: see `_Tournament`."""
    by_root: dict[QuotaNode, dict[QuotaNode, Entry]] = {}
    for entry in sorted(entries, key=lambda e: e.workload.order):
        by_root.setdefault(entry.queue.node.root(), {})[entry.queue.node] = entry
    for root, waiting in by_root.items():
        while waiting:
            winner = waiting[root] if root.is_queue else _Tournament(book, waiting).winner(root)
            if winner is None:
                break
            yield winner
            del waiting[winner.queue.node]


class _Tournament:
    """Finds the head that wins against all others of a tree.

    At each cohort the children's heads are compared: not borrowing at that level on what it asks for, the lower share
    with the workload counted in, then the queue order.
    """

    def __init__(self, book: ShareBook, waiting: dict[QuotaNode, Entry]) -> None:
        self.waiting = waiting
        self.shares: dict[tuple[str, QuotaNode], Share] = {}
        for node, entry in waiting.items():
            self._measure(book, node, entry)

    def _measure(self, book: ShareBook, node: QuotaNode, entry: Entry) -> None:
        for cell, amount in entry.search.usage.items():
            node.add(cell, amount)
        below = node
        for ancestor in node.path():
            self.shares[entry.workload.key, ancestor] = book.share(below)
            below = ancestor
        for cell, amount in entry.search.usage.items():
            node.remove(cell, amount)

    def winner(self, cohort: QuotaNode) -> Entry | None:
        """The best head below a cohort, or None when nobody is left there."""
        best: Entry | None = None
        children = sorted(cohort.children, key=lambda child: child.is_queue)
        for child in children:
            entry = self.waiting.get(child) if child.is_queue else self.winner(child)
            if entry is not None and (best is None or self._rank(entry, cohort) < self._rank(best, cohort)):
                best = entry
        return best

    def _rank(self, entry: Entry, cohort: QuotaNode) -> tuple[bool, tuple[bool, float], tuple[int, float, str]]:
        share = self.shares[entry.workload.key, cohort]
        usage = entry.search.usage
        borrows = any(usage.get(cell, 0) > 0 for cell in share.borrowed)
        return borrows, share.rank, entry.workload.order
