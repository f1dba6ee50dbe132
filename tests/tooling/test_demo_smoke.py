"""The demo with all its real processes: a job runs, a second start still knows it, Ctrl-C ends everything."""

import sys
from pathlib import Path

import pytest

from tests.tooling.processes import with_argument
from tests.tooling.smoke import play

# The promised times are judged on a quiet machine (`.ci/run`); here other tests may run beside this one.
PATIENCE = (90.0, 60.0)


@pytest.mark.timeout(240)
def test_a_job_runs_and_is_still_known_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    command = [sys.executable, "-m", "deploy.demo"]
    play(command, folder, tmp_path / "output", {"TURNO_DEMO_FOLDER": str(folder)}, within=PATIENCE)
    assert with_argument(str(folder)) == {}
