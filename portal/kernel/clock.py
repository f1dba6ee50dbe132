"""The only wall clock. Tests replace `now` through `set_source`; nothing else may read the time of day."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


def _system() -> datetime:
    return datetime.now(UTC)


_source: Callable[[], datetime] = _system


def now() -> datetime:
    """The present moment, timezone-aware, in UTC."""
    return _source()


def monotonic() -> float:
    """Seconds that never go back: for what remains of a lease or a time-out."""
    return time.monotonic()


def set_source(source: Callable[[], datetime] | None) -> None:
    """Replaces the clock (tests); None puts the system's back."""
    global _source  # noqa: PLW0603  one clock per process
    _source = source or _system
