"""`python -m deploy.check [name...]`: runs the checks, shows the output of those that fail, ends with 1 if any did."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {
    "TURNO_PUBLIC_URL": "https://turno.example",
    "TURNO_ALLOWED_HOSTS": "turno.example",
    "TURNO_SECRET_KEY": "l0ng-and-Random:enough-for-the-deployment-check-that-never-serves-anybody",
}


@dataclass(frozen=True)
class Check:
    """One command and what its success means."""

    name: str
    meaning: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    return (str(BIN / name), *arguments)


def manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-W", "error", "manage.py", *arguments)


def module(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", name, *arguments)


def templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))


def all_checks(scratch: Path) -> list[Check]:
    """Every check; `scratch` is an empty folder for the database of the migrations."""
    fresh = {"TURNO_DATABASE_URL": f"sqlite:///{scratch}/fresh.sqlite3"}
    return [
        Check("format", "the code is in its canonical form", tool("ruff", "format", "--check", ".")),
        Check("lint", "no lint", tool("ruff", "check", ".")),
        Check("types", "mypy --strict is content", tool("mypy")),
        Check("imports", "rooms and floors import downward only", tool("lint-imports", "--no-cache")),
        Check("drift", "models and migrations agree", manage("makemigrations", "--check", "--dry-run")),
        Check("migrate", "an empty database migrates", manage("migrate", "--no-input", "-v0"), fresh),
        Check("deploy", "Django's deployment checks", manage("check", "--deploy", "--fail-level=WARNING"), PRODUCTION),
        Check(
            "schema", "the OpenAPI document is valid", manage("spectacular", "--validate", "--fail-on-warn", *VALIDATE)
        ),
        Check("templates", "templates in form", tool("djade", "--target-version", "5.2", "--check", *templates())),
        Check("html", "no faults in the templates' HTML", tool("djlint", "--lint", "--quiet", "templates")),
        Check("messages", "every sentence is translated and compiled", module("deploy.messages", "check")),
        Check("kubernetes", "deploy/kubernetes is whole, restricted and least", module("pytest", "-q", "-n0", INSTALL)),
        Check("architecture", "single writer, budgets, generated parts", module("pytest", "-q", "tests/architecture")),
    ]


INSTALL = "tests/tooling/test_kubernetes_files.py"
VALIDATE = ("--validate", "--fail-on-warn", "--file", os.devnull)


def run(check: Check) -> bool:
    """Runs one check and says how it went; its output is shown only where it failed."""
    started = time.monotonic()
    environment = {"DJANGO_SETTINGS_MODULE": "deploy.check.settings", **os.environ, **check.environment}
    answer = subprocess.run(
        check.command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    good = answer.returncode == 0
    took = time.monotonic() - started
    print(f"{'ok  ' if good else 'FAIL'} {check.name:<13} {took:5.1f} s  {check.meaning}", flush=True)
    if not good:
        print(answer.stdout + answer.stderr, flush=True)
    return good


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        chosen = [check for check in all_checks(Path(scratch)) if not names or check.name in names]
        failed = [check.name for check in chosen if not run(check)]
    if failed or not chosen:
        print(f"turno: failed: {', '.join(failed) or 'no such check'}", file=sys.stderr)
        return 1
    print(f"turno: all {len(chosen)} checks passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
