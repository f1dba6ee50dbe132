"""A figure: what was measured, beside what, against which target."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

_missed: list[str] = []


def figure(what: str, value: float, target: float, *, unit: str = "", least: bool = False, told: str = "") -> bool:
    """Prints one line; whether the target was met. `least`: the value must be at least so large."""
    met = value >= target if least else value <= target
    if not met:
        _missed.append(what)
    sign, verdict = ">=" if least else "<=", "met" if met else "MISSED"
    print(f"  {what:<46} {value:9.2f} {unit:<4} target {sign} {target:g} {verdict:<6} {told}", flush=True)
    return met


def note(text: str) -> None:
    print(f"  {text}", flush=True)


def title(text: str) -> None:
    print(f"\n{text}", flush=True)


def missed() -> list[str]:
    """The figures that missed their target so far."""
    return list(_missed)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)
