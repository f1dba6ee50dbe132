"""What would have to be free in a plain tree before anybody who waits there had a chance, kept by cell.

Most batches find nothing for anybody. To see that, nobody's shape is looked at again: what each queue lacks least is
kept in rows, and only queues whose own work or waiting line has changed since are looked through anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from portal.admission.model import PreemptionPolicy

if TYPE_CHECKING:
    from portal.admission.queue import Queue

# A cell, and by which policy and priority evictions in other queues may add to what is free in it (None: not at all).
Row = tuple[int, tuple[PreemptionPolicy, int] | None]
NEVER_ENOUGH = 1 << 62


class Chances:
    """The least that each queue lacks, by row; for so many queues, which must stay as they are.

    `unclear`: the places of queues in which somebody asks for more than one resource, of whom nothing is known here.
    """

    __slots__ = ("_lacks", "_rows", "_seen", "least", "unclear")

    def __init__(self, queues: int) -> None:
        self.least: dict[Row, int] = {}
        self.unclear: set[int] = set()
        self._rows: dict[Row, list[int]] = {}
        self._lacks: list[dict[Row, int]] = [{} for _ in range(queues)]
        # The state of each queue's own work when it was looked through last.
        self._seen = [0] * queues

    def __len__(self) -> int:
        """For how many queues it is made."""
        return len(self._seen)

    def stale(self, queues: list[Queue]) -> list[int]:
        """The places of the queues that have to be looked through again."""
        seen = self._seen
        return [at for at, queue in enumerate(queues) if queue.line.changed or queue.stamp != seen[at]]

    def note(self, at: int, queue: Queue, lacks: dict[Row, int] | None) -> None:
        """What a queue lacks least; None: it is unclear."""
        queue.line.changed = False
        self._seen[at] = queue.stamp
        if lacks is None:
            self.unclear.add(at)
            lacks = {}
        else:
            self.unclear.discard(at)
        known = self._lacks[at]
        if lacks == known:
            return
        self._lacks[at] = lacks
        for row in {**known, **lacks}:
            amount = lacks.get(row, NEVER_ENOUGH)
            if amount != known.get(row, NEVER_ENOUGH):
                self._put(row, at, amount)

    def _put(self, row: Row, at: int, amount: int) -> None:
        amounts = self._rows.get(row)
        if amounts is None:
            amounts = self._rows[row] = [NEVER_ENOUGH] * len(self._seen)
        amounts[at] = amount
        self.least[row] = min(amounts)
