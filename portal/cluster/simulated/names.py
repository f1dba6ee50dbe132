"""Names that the API server makes up."""

from __future__ import annotations

import secrets

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST = 63
_SUFFIX = 5


def random_suffix(length: int = _SUFFIX) -> str:
    """Kubernetes' alphabet for generated names: no vowels, no digits that look like letters."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def generate_name(prefix: str) -> str:
    """What `metadata.generateName` becomes."""
    return prefix[: _LONGEST - _SUFFIX] + random_suffix()
