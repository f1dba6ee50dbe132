"""Ids sort by creation; the clock can be moved."""

from __future__ import annotations

from datetime import UTC, datetime

from portal.kernel import clock, ids


def test_ids_are_uuid7_and_sort_by_creation() -> None:
    made = [ids.uuid7() for _ in range(3)]
    assert all((one.version, one.variant) == (7, "specified in RFC 4122") for one in made)
    assert len(set(made)) == 3
    assert made[0].int >> 80 <= made[-1].int >> 80


def test_the_clock_is_utc_and_replaceable(frozen) -> None:
    assert clock.now() == datetime(2026, 12, 1, 9, tzinfo=UTC)
    assert frozen.move(hours=1) == clock.now()
    clock.set_source(None)
    assert clock.now().tzinfo is UTC
