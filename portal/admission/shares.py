"""Fair sharing: dominant resource shares, and whose turn it is by them.

A node's share is, of the resource it borrows most of, the part of what its parent can lend, in thousandths and divided
by its weight. A node of weight 0 that borrows has an infinite share.
"""

from dataclasses import dataclass

from portal.admission.nodes import QuotaNode


@dataclass(frozen=True, slots=True)
class Share:
    """A node's share. Compare by `rank`: a higher one loses."""

    rank: tuple[bool, float]
    borrowed: frozenset[int]

    @property
    def borrows(self) -> bool:
        """Whether the node uses more than its own quota of anything."""
        return bool(self.borrowed)


NO_SHARE = Share((False, 0.0), frozenset())


class ShareBook:
    """Computes shares; `names` maps cells to flavor and resource."""

    def __init__(self, names: list[tuple[str, str]]) -> None:
        self._names = names
        self._lendable: dict[QuotaNode, dict[str, int]] = {}

    def share(self, node: QuotaNode) -> Share:
        """The share of a queue or cohort as its usage stands."""
        if node.parent is None:
            return NO_SHARE
        borrowed: dict[str, int] = {}
        cells: list[int] = []
        usage = node.usage
        for cell, quota in enumerate(node.subtree):
            over = usage[cell] - quota
            if over > 0:
                resource = self._names[cell][1]
                borrowed[resource] = borrowed.get(resource, 0) + over
                cells.append(cell)
        if not borrowed:
            return NO_SHARE
        lendable = self._lendable_from(node.parent)
        ratio = 0.0
        for resource, amount in borrowed.items():
            if lendable.get(resource, 0) > 0:
                ratio = max(ratio, amount * 1000.0 / lendable[resource])
        if ratio == 0:
            return Share((False, 0.0), frozenset(cells))
        if node.weight == 0:
            return Share((True, ratio), frozenset(cells))
        return Share((False, ratio / node.weight), frozenset(cells))

    def _lendable_from(self, parent: QuotaNode) -> dict[str, int]:
        """What a cohort could lend to a child, by resource over all flavors; quota alone decides it."""
        known = self._lendable.get(parent)
        if known is None:
            known = self._lendable[parent] = {}
            for cell, (_, resource) in enumerate(self._names[: len(parent.subtree)]):
                known[resource] = known.get(resource, 0) + parent.maximum(cell)
        return known
