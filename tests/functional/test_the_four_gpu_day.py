"""The demo's story, told by `examples/four_gpu_day.py` to a demo with all its real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tooling.stories import DAY, the_day_holds


@pytest.mark.timeout(600)
def test_the_day_holds_from_morning_to_evening(credentials: Path) -> None:
    the_day_holds(credentials)


def test_without_credentials_it_says_what_it_needs() -> None:
    told = subprocess.run([sys.executable, str(DAY)], capture_output=True, text=True, check=False, env={"PATH": ""})
    assert told.returncode == 1
    assert told.stderr.startswith("Give --credentials")


def test_one_account_is_not_enough_for_three_teams() -> None:
    told = subprocess.run(
        [sys.executable, str(DAY)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "TURNO_TOKEN": " token\n"},
    )
    assert told.returncode == 1
    assert "all three teams" in told.stderr
