"""A team's quota as bars: pure arithmetic on the answer of `quotas.selectors.tenant_quota`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Bar:
    """One flavor and resource. `own` + `borrowed` = `held`; the bar is `scale` wide. `known`: the cluster told."""

    flavor: str
    resource: str
    nominal: int
    held: int
    borrowed: int
    lent: int
    known: bool

    @property
    def own(self) -> int:
        return max(0, self.held - self.borrowed)

    @property
    def scale(self) -> int:
        return max(self.nominal, self.held, 1)


@dataclass(frozen=True)
class TeamBars:
    """What the quota panel of one team shows. `as_of` is the oldest of its figures."""

    slug: str
    name: str
    cells: tuple[Bar, ...]
    as_of: Any
    link: bool


def of_team(slug: str, name: str, rows: Sequence[Mapping[str, Any]], *, link: bool) -> TeamBars:
    """Slices and whole cards stay apart: one bar per flavor and resource, 0 shown as 0."""
    cells = tuple(
        Bar(
            row["flavor"],
            row["resource"],
            row["nominal"] or 0,
            row["held"] or 0,
            row["borrowed"] or 0,
            row["lent"] or 0,
            row["held"] is not None,
        )
        for row in rows
    )
    known = [row["as_of"] for row in rows if row.get("as_of")]
    return TeamBars(slug, name, cells, min(known) if known else None, link)
