"""The example that asks for more than there is: what it counts, and that it leaves nothing in the queue."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LIKELY = {"p50": "2026-12-01T08:00:20Z", "p90": "2026-12-01T08:00:30Z"}


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example, with a clock that moves while it sleeps."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    found = importlib.import_module("busy_minutes")
    at = [0.0]
    # Its own view of the time, not the module's that everybody shares: an event loop of another thread would go by it.
    own = SimpleNamespace(monotonic=lambda: at[0], sleep=lambda seconds: at.__setitem__(0, at[0] + seconds))
    monkeypatch.setattr(found, "time", own)
    monkeypatch.setattr(found, "MINUTES", 1.0)
    yield found
    sys.modules.pop("busy_minutes", None)


class Person:
    """A Turno in which every job waits for some looks and then starts, or never does."""

    tenant = "data"

    def __init__(self, *, looks: float) -> None:
        self.looks = looks
        self.seen: dict[str, int] = {}
        self.removed: list[str] = []

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        if method == "POST":
            return {"id": f"{len(self.seen)}", "seen": self.seen.setdefault(f"/training-jobs/{len(self.seen)}/", 0)}
        if method == "DELETE":
            self.removed.append(path)
            return None
        if path.endswith("explain/"):
            return {"likely_start": LIKELY, "forecast": {"p10": "2026-12-01T08:00:10Z"}}
        mine = path.removesuffix("runs/")
        self.seen[mine] += 1
        return {"results": [{"admitted_at": "2026-12-01T08:00:25Z" if self.seen[mine] > self.looks else None}]}


def everybody(busy: ModuleType, *, looks: float) -> dict[str, Person]:
    return {who: Person(looks=looks) for who, *_ in busy.HABITS}


def test_starts_within_their_band_are_counted_and_the_first_ones_only_teach(busy: ModuleType) -> None:
    asked = busy.play(everybody(busy, looks=3), random.Random(5))
    found = busy.report(asked)
    assert len(asked) > 5
    assert found["judged"] == found["within"] == len(asked) - int(len(asked) * busy.LEARNING)


def test_a_start_after_the_band_is_counted_as_such(busy: ModuleType) -> None:
    asked = busy.play(everybody(busy, looks=3), random.Random(5))
    asked[-1].started = "2026-12-01T08:01:00Z"
    found = busy.report(asked)
    assert found["within"] == found["judged"] - 1


def test_what_never_starts_is_removed_in_the_end(busy: ModuleType) -> None:
    people = everybody(busy, looks=float("inf"))
    asked = busy.play(people, random.Random(5))
    assert sum(len(one.removed) for one in people.values()) == len(asked)
    assert busy.report(asked)["judged"] == 0
