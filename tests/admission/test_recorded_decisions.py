"""The engine decides what a real Kueue decided: every unambiguous step of the recorded scenarios."""

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.admission.recorded import Scenario

DATA = Path(__file__).parent / "data"

# Steps compared, so that a truncated file or an early stop does not pass for agreement.
STEPS = {"classic": 3120, "day": 219, "fair": 806, "hier": 530, "partial": 590}
# Waiting workloads whose QuotaReserved message is the recorded one, letter for letter, in per cent.
MESSAGES = 97.0


def scenarios(family: str) -> Iterator[dict[str, Any]]:
    """The scenarios of one family."""
    with lzma.open(DATA / f"{family}.jsonl.xz", "rt") as lines:
        yield from map(json.loads, lines)


def steps(scenario: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each step's name, the recorded state and the engine's, up to the first ambiguous step."""
    played = Scenario({key: value for key, value in scenario.items() if key not in {"events", "after"}})
    for number, (event, after) in enumerate(zip(scenario["events"], scenario["after"], strict=True), 1):
        if after.get("ambiguous"):
            return
        yield f"{scenario['id']} step {number} ({event['op']})", after, played.apply(event)


def evictions(state: dict[str, Any]) -> list[list[str]]:
    """Who was evicted in a step, why and by whom."""
    return sorted(change for change in state["changes"] if change[1] == "evicted")


def differences(recorded: dict[str, Any], played: dict[str, Any]) -> list[str]:
    """Where two states disagree in what a model must reproduce."""
    found = []
    for name, expected in recorded["workloads"].items():
        given = played["workloads"][name]
        found += [
            f"{name}.{key}: {expected.get(key)} recorded, {given.get(key)} played"
            for key in ("state", "flavors", "count")
            if expected.get(key) != given.get(key)
        ]
    if evictions(recorded) != evictions(played):
        found.append(f"evictions: {evictions(recorded)} recorded, {evictions(played)} played")
    for name, expected in recorded["queues"].items():
        given = played["queues"][name]
        found += [
            f"{name}.{key}: {expected[key]} recorded, {given[key]} played"
            for key in ("pending", "reserved", "active")
            if expected[key] != given[key]
        ]
    return found


@pytest.mark.parametrize("family", sorted(STEPS))
def test_every_unambiguous_step_is_decided_as_recorded(family: str) -> None:
    compared, different = 0, []
    for scenario in scenarios(family):
        for name, recorded, played in steps(scenario):
            compared += 1
            if found := differences(recorded, played):
                different.append((name, found))
                break
    assert compared == STEPS[family]
    assert different == []


def test_messages_of_waiting_workloads_are_those_of_kueue() -> None:
    counts: Counter[bool] = Counter()
    for family in sorted(STEPS):
        for scenario in scenarios(family):
            for _, recorded, played in steps(scenario):
                if differences(recorded, played):
                    break
                for name, expected in recorded["workloads"].items():
                    # A victim that nobody has tried again shows its preemptor's UIDs, which the engine does not know.
                    if expected["state"] == "pending" and not expected.get("message", "").startswith("Preempted to"):
                        given = played["workloads"][name]
                        same = all(given.get(key) == expected.get(key) for key in ("reason", "message"))
                        counts[same] += 1
    assert counts.total() > 5000
    assert 100 * counts[True] / counts.total() >= MESSAGES, counts
