"""Vendored files are what the manifest says, and the first page stays light."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "static"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
FILES = json.loads((STATIC / "vendor" / "manifest.json").read_text())["files"]


@pytest.mark.parametrize("row", FILES, ids=lambda row: row["file"])
def test_a_vendored_file_is_unchanged_and_has_its_licence(row: dict[str, str]) -> None:
    content = (STATIC / "vendor" / row["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == row["sha256"]
    assert b"sourceMappingURL" not in content
    assert (STATIC / "vendor" / row["licence_file"]).stat().st_size > 0


def test_nothing_vendored_is_missing_from_the_manifest() -> None:
    vendor = STATIC / "vendor"
    listed = {row["file"] for row in FILES} | {row["licence_file"] for row in FILES}
    found = {str(path.relative_to(vendor)) for path in vendor.rglob("*") if path.is_file()}
    assert found - listed <= {"manifest.json", "licences/tabler-icons.txt"}


def test_the_scripts_of_a_first_page_weigh_at_most_100_kilobytes() -> None:
    base = (ROOT / "templates" / "base.html").read_text()
    scripts = re.findall(r"<script src=\"{% static '([^']+)' %}\"", base)
    assert len(scripts) == 3
    assert sum(len(gzip.compress((STATIC / name).read_bytes())) for name in scripts) <= 100 * 1024


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_no_template_carries_inline_style_or_script(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=|hx-on|javascript:|hx-vals=.js", text)
    assert all(tag.startswith("<script src=") for tag in re.findall(r"<script[^>]*>", text))


def test_every_icon_that_a_template_names_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol id="([^"]+)"', (STATIC / "icons.svg").read_text()))
    named = {name for path in TEMPLATES for name in re.findall(r'{% icon "([^"]+)" %}', path.read_text())}
    pictures = {name for path in TEMPLATES for name in re.findall(r'picture="([^"]+)"', path.read_text())}
    assert named | pictures <= sprite
