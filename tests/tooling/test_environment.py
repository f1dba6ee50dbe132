"""The environment is built once for each lock, kept while it works, and built again when it does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tooling.processes import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose locks are empty, so that nothing is downloaded."""
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy" / "environment.py", tmp_path / "deploy")
    (tmp_path / "requirements").mkdir()
    for name in ("base", "test", "dev"):
        (tmp_path / "requirements" / f"{name}.txt").write_text(f"# {name}\n")
    return tmp_path


def build(checkout: Path, level: str) -> str:
    command = [sys.executable, "deploy/environment.py", level]
    answer = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_it_is_built_once_for_each_lock(checkout: Path) -> None:
    assert "building the environment in .venv (test.txt)" in build(checkout, "test")
    assert (checkout / ".venv" / "bin" / "python").exists()
    assert build(checkout, "test") == ""
    assert build(checkout, "demo") == ""  # the larger one holds it
    assert "dev.txt" in build(checkout, "dev")
    (checkout / "requirements" / "base.txt").write_text("# other pins\n")
    assert "base.txt" in build(checkout, "demo")


def test_a_moved_checkout_gets_a_new_one(checkout: Path) -> None:
    build(checkout, "demo")
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    assert "building" in build(moved, "demo")
    assert build(moved, "demo") == ""


def test_a_package_that_cannot_be_had_is_told_and_is_not_taken_for_done(checkout: Path) -> None:
    (checkout / "requirements" / "base.txt").write_text("not-hashed==1\n")
    command = [sys.executable, "deploy/environment.py", "demo"]
    for _ in range(2):
        answer = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        assert answer.returncode == 1
        assert answer.stderr.splitlines()[-1] == (
            "turno: the packages of requirements/base.txt could not be installed (see above)"
        )
