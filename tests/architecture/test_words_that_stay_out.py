"""What must not be in a tracked file: registries' host names, paths of one machine, unfinished marks."""

import re
import subprocess

import pytest

from tests.architecture.source import ROOT

# Put together here so that this file does not hold them.
REGISTRIES = (
    "py" + "pi.org",
    "pythonhosted" + ".org",
    "npmjs" + ".org",
    "registry.npmjs" + ".com",
    "deb.debian" + ".org",
)
MACHINE_PATHS = ("/wo" + "rk/", "/fa" + "rm/")
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "X" + "XX", "NotImplemented" + "Error")
NOT_TEXT = (".png", ".jpg", ".ico", ".woff2", ".mo", ".xz", ".gz", ".jsonl")
VENDORED = ("static/vendor/",)


def tracked_text() -> list[tuple[str, str]]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wanted = [
        name for name in names.split("\0") if name and not name.endswith(NOT_TEXT) and not name.startswith(VENDORED)
    ]
    files = [(name, ROOT / name) for name in wanted]
    return [(name, path.read_text(encoding="utf-8")) for name, path in files if path.is_file()]


def lines_with(pattern: str, ending: str = "") -> list[str]:
    found = re.compile(pattern)
    return [
        f"{name}:{number}"
        for name, text in tracked_text()
        if name.endswith(ending)
        for number, line in enumerate(text.splitlines(), 1)
        if found.search(line)
    ]


def test_there_are_files_to_look_at() -> None:
    assert len(tracked_text()) > 20


@pytest.mark.parametrize(
    ("words", "before"), [(REGISTRIES, ""), (MACHINE_PATHS, r"(?<![\w.])")], ids=["registries", "paths of a machine"]
)
def test_no_tracked_file_names(words: tuple[str, ...], before: str) -> None:
    assert lines_with("|".join(before + re.escape(word) for word in words)) == []


def test_no_code_is_marked_as_unfinished() -> None:
    assert lines_with("|".join(rf"\b{word}\b" for word in UNFINISHED), ".py") == []
