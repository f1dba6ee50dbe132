"""The examples, told to a Turno that runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.tooling.processes import ROOT

DAY = ROOT / "examples" / "four_gpu_day.py"


def the_day_holds(credentials: Path) -> None:
    """AssertionError with what the story said, where one of its steps does not hold."""
    day = subprocess.run(
        [sys.executable, str(DAY), "--credentials", str(credentials)],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert day.returncode == 0, f"{day.stdout}\n{day.stderr[-2000:]}"
    assert day.stdout.splitlines()[-1].endswith("That was the day.")
