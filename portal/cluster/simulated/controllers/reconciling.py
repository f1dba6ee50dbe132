"""What the manager asks of a controller."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from portal.cluster.simulated.store import Change

Name = tuple[str, str]


class Controller(Protocol):
    """Reconciles the objects of its kind by name, level-triggered."""

    @property
    def watches(self) -> tuple[str, ...]:
        """The kinds whose changes it wants to hear of."""

    def keys_for(self, change: Change) -> Iterable[Name]:
        """Which of its objects a change of a watched kind may concern."""

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass over one object. Returns when to look again, None for: when something changes."""
