"""Identifiers: UUIDv7 (RFC 9562), so that ids sort by creation and never tell how many there are."""

from __future__ import annotations

import os
import time
import uuid


def uuid7() -> uuid.UUID:
    """A new UUIDv7: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)
