"""The Go compiler that builds the control plane: version 1.26, found or asked for in one line."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.control_plane.failures import Refusal

# Kubernetes 1.36 serves a broken OpenAPI document when Go 1.27, with its new JSON package, has built it.
NEEDED = "1.26"
USUAL_PLACE = Path("/usr/local/go/bin/go")
_VERSION = re.compile(r"go version go(\d+\.\d+)")


def go(around: Mapping[str, str] = os.environ) -> Path:
    """The path of a Go 1.26: $GO, the one on PATH, or the one in its usual place. Refusal where none is one."""
    found = {path: version(path) for path in candidates(around)}
    for path, number in found.items():
        if number == NEEDED:
            return path
    seen = ", ".join(f"{path} is {number or 'not a Go'}" for path, number in found.items()) or "no Go is here"
    raise Refusal(f"Go {NEEDED} builds the control plane, and {seen}: install it, or name one with GO=...")


def candidates(around: Mapping[str, str]) -> Iterator[Path]:
    """Where a Go may be, the one that was named first; a named one is the only one."""
    if named := around.get("GO"):
        yield Path(named)
        return
    if on_path := shutil.which("go", path=around.get("PATH", "")):
        yield Path(on_path)
    if USUAL_PLACE.exists():
        yield USUAL_PLACE


def version(path: Path) -> str:
    """`1.26`, or nothing where the program does not say."""
    try:
        told = subprocess.run(
            [path, "version"], capture_output=True, text=True, check=False, env={**os.environ, "GOTOOLCHAIN": "local"}
        )
    except OSError:
        return ""
    match = _VERSION.match(told.stdout)
    return match[1] if match else ""
