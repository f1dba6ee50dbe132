"""Sums over quota: what a team could hold at most, what it borrows, what of its own others use. Stdlib only.

The rules are Kueue's (`potentialAvailable` of its cache): a queue may take its own nominal quota, and what the whole
tree of its cohort lends, up to its borrowing limit. Cohorts of ours have no quota and no limits of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

QUANTITY = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]{1,3})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")


@dataclass(frozen=True)
class Share:
    """Units of one resource of one flavor that one queue owns. A None limit is no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None

    @property
    def lendable(self) -> int:
        """What others may use of it while it is idle."""
        return self.nominal if self.lending_limit is None else min(self.nominal, self.lending_limit)


def maximum(own: Share, others: Iterable[Share], *, in_cohort: bool) -> int:
    """Units that the queue could hold were everything else idle. `others`: all other queues of the cohort's tree."""
    if not in_cohort:
        return own.nominal
    borrowable = sum(share.lendable for share in others)
    if own.borrowing_limit is not None:
        borrowable = min(borrowable, own.borrowing_limit)
    return own.nominal + borrowable


def lent(shares: Mapping[str, tuple[Share, int]]) -> dict[str, int]:
    """Units of each queue's own that others hold now. `shares`: by queue of one cohort's tree, share and units held.

    Kueue does not say whose units a borrower has. Where several could be the lender, the one with the most idle
    lendable units counts first, so the figures add up to what is borrowed and a single lender's is exact.
    """
    borrowed = sum(max(0, held - share.nominal) for share, held in shares.values())
    idle = {name: max(0, min(share.lendable, share.nominal - held)) for name, (share, held) in shares.items()}
    found: dict[str, int] = {}
    for name in sorted(idle, key=lambda name: (-idle[name], name)):
        found[name] = min(idle[name], borrowed)
        borrowed -= found[name]
    return found


def tree_of(cohort: str, parents: Mapping[str, str | None]) -> frozenset[str]:
    """Names of all cohorts that hang together with this one. `parents`: cohort -> parent, for cohorts with a row."""
    root = _root(cohort, parents)
    return frozenset({cohort, *(name for name in parents if _root(name, parents) == root)})


def makes_a_cycle(cohort: str, parent: str, parents: Mapping[str, str | None]) -> bool:
    """Whether hanging `cohort` below `parent` would make it its own ancestor (Kueue then stops the whole tree)."""
    seen: set[str] = set()
    at: str | None = parent
    while at is not None and at not in seen:
        if at == cohort:
            return True
        seen.add(at)
        at = parents.get(at)
    return False


def _root(cohort: str, parents: Mapping[str, str | None]) -> str:
    seen = {cohort}
    while (above := parents.get(cohort)) is not None and above not in seen:
        seen.add(above)
        cohort = above
    return cohort


def is_quantity(text: object) -> bool:
    """Whether this is a Kubernetes quantity that is not negative, as Turno writes them (`500m`, `64Gi`, `4`)."""
    return isinstance(text, str) and QUANTITY.fullmatch(text) is not None
