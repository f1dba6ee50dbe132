"""What a database may be asked for."""

from __future__ import annotations


def is_askable(text: object) -> bool:
    """Whether a name from outside can be looked up at all: PostgreSQL refuses text with NUL, so it finds nothing."""
    return isinstance(text, str) and "\0" not in text
