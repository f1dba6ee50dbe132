"""Every lock is hashed, names no host, and holds the smaller ones unchanged."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "requirements"
LOCKS = ("base", "test", "dev")


def pins(name: str) -> dict[str, str]:
    """Package and marker -> version."""
    lines = (FOLDER / f"{name}.txt").read_text().splitlines()
    found = [re.match(r"([a-z0-9.-]+)==([^ ;]+)( ; [^\\]+)?", line) for line in lines]
    return {f"{match[1]}{match[3] or ''}".strip(): match[2] for match in found if match}


def wanted(name: str) -> set[str]:
    lines = (FOLDER / f"{name}.in").read_text().splitlines()
    names = [re.match(r"[A-Za-z0-9._-]+", line) for line in lines if not line.startswith(("#", "-r"))]
    return {match[0].lower() for match in names if match}


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_hashes_and_nothing_else_is_in_the_lock(name: str) -> None:
    entries = (FOLDER / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()
    assert len(entries) > 50
    assert [
        entry for entry in entries if not re.fullmatch(r"\S+==\S+ .*?(\s--hash=sha256:[0-9a-f]{64})+\s*", entry)
    ] == []


@pytest.mark.parametrize("name", LOCKS)
def test_what_is_wanted_is_locked(name: str) -> None:
    locked = {pin.split(" ")[0] for pin in pins(name)}
    assert wanted(name) - locked == set()


@pytest.mark.parametrize(("smaller", "larger"), [("base", "test"), ("test", "dev")])
def test_a_larger_lock_holds_the_smaller(smaller: str, larger: str) -> None:
    assert pins(smaller).items() <= pins(larger).items()
