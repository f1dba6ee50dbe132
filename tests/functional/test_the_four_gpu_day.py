"""The demo's story, told by `examples/four_gpu_day.py` to a demo with all its real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tooling.processes import ROOT

SCRIPT = ROOT / "examples" / "four_gpu_day.py"


@pytest.mark.timeout(600)
def test_the_day_holds_from_morning_to_evening(credentials: Path) -> None:
    day = subprocess.run(
        [sys.executable, str(SCRIPT), "--credentials", str(credentials)],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert day.returncode == 0, f"{day.stdout}\n{day.stderr[-2000:]}"
    assert day.stdout.splitlines()[-1].endswith("That was the day.")


def test_without_credentials_it_says_what_it_needs() -> None:
    told = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, env={"PATH": ""})
    assert told.returncode == 1
    assert told.stderr.startswith("Give --credentials")


def test_one_account_is_not_enough_for_three_teams() -> None:
    told = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "TURNO_TOKEN": " token\n"},
    )
    assert told.returncode == 1
    assert "all three teams" in told.stderr
