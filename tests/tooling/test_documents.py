"""README and CONTRIBUTING say what is there."""

import re

import pytest

from tests.tooling.processes import ROOT

README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def settings_read() -> set[str]:
    """Variables that the settings read."""
    texts = [path.read_text() for path in (ROOT / "portal" / "settings").glob("*.py")]
    return {name for text in texts for name in re.findall(r"env\.\w+\(\s*\"(TURNO_\w+)\"", text)}


def test_the_settings_table_is_complete() -> None:
    rows = set(re.findall(r"^\| `(TURNO_\w+)` \|", README, re.MULTILINE))
    assert settings_read()
    assert rows == settings_read()


def test_every_command_that_is_told_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE))
    told = set(re.findall(r"(?:`|^ {4})make ([a-z-]+)", README + CONTRIBUTING, re.MULTILINE))
    assert {"demo", "test", "check"} <= told
    assert told <= targets


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_file_that_is_named_exists(text: str) -> None:
    named = set(re.findall(r"`((?:portal|jobs|tenants|quotas|tests|deploy|examples|requirements)/[\w./-]+)`", text))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_room_of_the_contracts_is_explained() -> None:
    rooms = [
        path.name for path in (ROOT / "portal").iterdir() if (path / "__init__.py").exists() and path.name != "settings"
    ]
    assert [name for name in rooms if name not in CONTRIBUTING] == []
