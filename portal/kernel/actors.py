"""Who acts: the value that every command and query takes first."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

ALL_SCOPES = frozenset({"read", "write", "admin"})


@dataclass(frozen=True)
class Person:
    """A human being, by session (all scopes) or by a personal token (the token's scopes)."""

    id: UUID
    username: str
    is_admin: bool = False
    scopes: frozenset[str] = ALL_SCOPES
    token_id: UUID | None = None
    language: str = ""
    time_zone: str = ""
    type: str = field(default="person", init=False)

    @property
    def label(self) -> str:
        return self.username


@dataclass(frozen=True)
class Machine:
    """A team's machine (CI): acts by its token with a fixed role in one tenant, and outlives people."""

    id: UUID
    name: str
    tenant_id: UUID
    role: str
    scopes: frozenset[str] = frozenset({"read"})
    token_id: UUID | None = None
    is_admin: bool = field(default=False, init=False)
    type: str = field(default="machine", init=False)

    @property
    def label(self) -> str:
        return self.name


@dataclass(frozen=True)
class System:
    """Turno itself: a reconciler, the watcher, the sweep."""

    name: str = "turno"
    is_admin: bool = field(default=True, init=False)
    type: str = field(default="system", init=False)

    @property
    def id(self) -> None:
        return None

    @property
    def label(self) -> str:
        return self.name


Actor = Person | Machine | System
