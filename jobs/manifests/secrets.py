"""Derived tokens: never stored. A stored manifest holds a marker, which the worker fills when it applies the Secret.

token = base64url(HMAC-SHA256(server key, purpose, workload, rotation)): it changes with the rotation and with the key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

MARK = "turno.dev/derived"
NOTEBOOK, ENDPOINT = "notebook", "endpoint"


@dataclass(frozen=True)
class Derived:
    """What a token is made of, besides the server key that `key_id` names and the workload."""

    purpose: str
    key_id: str
    rotation: int

    @property
    def marker(self) -> str:
        return f"{MARK}:{self.purpose}:{self.key_id}:{self.rotation}"


class KeyMissing(LookupError):
    """The server key that a workload's token was made with is no longer configured."""


def read_marker(text: object) -> Derived | None:
    """The marker's parts; None for anything else."""
    parts = text.split(":") if isinstance(text, str) else []
    if len(parts) != 4 or parts[0] != MARK or not parts[3].isdigit():
        return None
    return Derived(parts[1], parts[2], int(parts[3]))


def token(derived: Derived, workload_id: UUID, server_keys: Mapping[str, str]) -> str:
    """43 characters of A-Z, a-z, 0-9, `-` and `_`. KeyMissing where the server key is gone."""
    try:
        server_key = server_keys[derived.key_id]
    except KeyError:
        raise KeyMissing(derived.key_id) from None
    text = f"{derived.purpose}\n{workload_id}\n{derived.rotation}"
    digest = hmac.new(server_key.encode(), text.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def filled(manifest: Mapping[str, Any], workload_id: UUID, server_keys: Mapping[str, str]) -> dict[str, Any]:
    """The manifest as it is sent: a Secret's markers replaced by the tokens, everything else as it is."""
    if manifest["kind"] != "Secret":
        return dict(manifest)
    data: dict[str, str] = {}
    for name, value in manifest.get("data", {}).items():
        derived = read_marker(value)
        plain = token(derived, workload_id, server_keys) if derived else ""
        data[name] = base64.b64encode(plain.encode()).decode() if derived else value
    return {**manifest, "data": data}
