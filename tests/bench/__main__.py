"""`python -m tests.bench [submit] [list] [--rounds N]`: Turno beside a bare Django and DRF view on the same database.

Rounds alternate between the two, so that the machine's mood strikes both; the figures are medians of the rounds.
`python -m tests.bench cluster ...` measures Turno on a real control plane instead (`tests.bench.cluster`).
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.services import Missing, program
from tests.bench.load import Measured, Request, measure, numbers
from tests.bench.sites import Site, both
from tests.tooling.processes import free_port

ROUNDS = 5
SUBMITS = 200
LISTS = 100
CONCURRENCIES = (1, 8, 32)
SIZES = (100, 10_000, 100_000)
SERIAL = numbers()


def alternately(
    sites: Sequence[Site], request: str, requests: int, concurrency: int, *, rounds: int
) -> dict[str, Measured]:
    """Medians of the rounds for each site; one round more goes first and does not count."""
    found: dict[str, list[Measured]] = {site.name: [] for site in sites}
    for round_number in range(rounds + 1):
        for site in sites if round_number % 2 else reversed(sites):
            build: Request = getattr(site, request)
            found[site.name].append(
                measure(site.port, build, requests=requests, concurrency=concurrency, serial=SERIAL)
            )
    return {name: median(runs[1:]) for name, runs in found.items()}


def median(runs: list[Measured]) -> Measured:
    return Measured(*(statistics.median(getattr(run, field) for run in runs) for field in ("rate", "p50", "p95")))


def show(title: str, found: dict[str, Measured]) -> None:
    turno, bare = found["turno"], found["bare"]
    print(
        f"{title:<34} {turno.rate:7.0f}/s {bare.rate:7.0f}/s {bare.rate / turno.rate:6.1f}x"
        f"   {turno.p95:8.1f} ms {bare.p95:8.1f} ms {turno.p95 / bare.p95:6.1f}x",
        flush=True,
    )


def main(wanted: Sequence[str], rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="turno-bench-") as folder, both(Path(folder), free_port(4)) as sites:
        print(f"{'':<34} {'turno':>9} {'bare':>9} {'cost':>7}   {'p95 turno':>11} {'p95 bare':>11} {'cost':>7}")
        if "submit" in wanted:
            for concurrency in CONCURRENCIES:
                found = alternately(sites, "submit", SUBMITS, concurrency, rounds=rounds)
                show(f"submit, {concurrency} at once", found)
        if "list" in wanted:
            alternately(sites, "submit", 1, 1, rounds=rounds)  # the rows that are copied
            for size in SIZES:
                for site in sites:
                    site.fill(size)
                show(f"list of {size:,}, one at a time", alternately(sites, "listing", LISTS, 1, rounds=rounds))


def on_a_control_plane(arguments: list[str]) -> int:
    """Beside a control plane and servers of its own, which are gone afterwards; on SQLite where there are none."""
    inner = [sys.executable, "-m", "tests.bench.cluster", *arguments]
    try:
        program("postgres", "postgresql")
        program("redis-server", "redis-server")
    except Missing as missing:
        print(f"turno: {missing}; SQLite takes its place")
    else:
        inner = [sys.executable, "-m", "deploy.services", "--", *inner]
    knows = {"DJANGO_SETTINGS_MODULE": "portal.settings", "TURNO_SECRET_KEY": "bench", **os.environ}
    return subprocess.run(
        [sys.executable, "-m", "deploy.control_plane", "with", "--", *inner], env=knows, check=False
    ).returncode


if __name__ == "__main__":
    if sys.argv[1:2] == ["cluster"]:
        sys.exit(on_a_control_plane(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Turno beside a bare view.")
    parser.add_argument("wanted", nargs="*", metavar="WHAT", choices=["submit", "list", []], default=[])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds that count, %(default)s unless given")
    given = parser.parse_args()
    main(given.wanted or ["submit", "list"], given.rounds)
