"""What a mirrored namespace says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_terminating(namespace: Mapping[str, Any] | None) -> bool:
    """Whether somebody is deleting it: nothing can be made in it until it is gone."""
    if namespace is None:
        return False
    if (namespace.get("metadata") or {}).get("deletionTimestamp"):
        return True
    return (namespace.get("status") or {}).get("phase") == "Terminating"
