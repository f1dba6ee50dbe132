"""Addresses that are about to be published: an endpoint's id says when it was asked for (UUIDv7), and its route follows
within seconds. Until then it is not ready, which is another thing than not there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

ENDPOINT = re.compile(r"/e/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(/.*)")
SOON = timedelta(seconds=15)


def path_of_coming(path: str, now: datetime) -> str | None:
    """The path as the model server would see it, where the endpoint was asked for only just now; else None."""
    found = ENDPOINT.fullmatch(path)
    if found is None:
        return None
    asked_at = datetime.fromtimestamp((UUID(found[1]).int >> 80) / 1000, UTC)
    return found[2] if timedelta(0) <= now - asked_at < SOON else None
