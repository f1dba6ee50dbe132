"""One mirrored object as a plain value, and reading of the shapes that all kinds share. Odd data reads as nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Seen:
    """What the mirror has of one object. `data`: metadata, spec and status as Kubernetes has them."""

    kind: str
    name: str
    uid: str
    run: int | None = None
    owner_uid: str = ""
    job_uid: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> Mapping[str, Any]:
        """`metadata`, `spec` or `status`; empty where it is missing or no object."""
        return as_map(self.data.get(name))

    @property
    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """By type."""
        return {str(row.get("type")): row for row in as_list(self.part("status").get("conditions"))}

    @property
    def deleting(self) -> bool:
        return bool(self.part("metadata").get("deletionTimestamp"))

    @property
    def created(self) -> datetime | None:
        return when(self.part("metadata").get("creationTimestamp"))


def as_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def count(value: object) -> int:
    """A counter of a status; 0 where it is missing."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def when(value: object) -> datetime | None:
    """An RFC 3339 time of the cluster; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_true(condition: Mapping[str, Any] | None) -> bool:
    return bool(condition) and as_map(condition).get("status") == "True"


def since(condition: Mapping[str, Any] | None) -> datetime | None:
    """When the condition became what it is."""
    return when(as_map(condition).get("lastTransitionTime"))


def text(condition: Mapping[str, Any] | None, name: str = "message", *, longest: int = 500) -> str:
    value = as_map(condition).get(name)
    return value[:longest] if isinstance(value, str) else ""
