"""The inner command of `make bench ARGS="cluster ..."`: beside the control plane that TURNO_CLUSTER_FOLDER names."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import django

django.setup()

from tests.bench.cluster import admitted, burst, idle, lives, mirror, outage, streams  # noqa: E402  Django's registry
from tests.bench.cluster.figures import missed, note, title  # noqa: E402
from tests.bench.cluster.site import whole_site  # noqa: E402
from tests.bench.cluster.sizes import Sizes  # noqa: E402

FIGURES = {
    "lives": lives.measure,
    "singles": burst.singles,
    "burst": burst.measure,
    "admitted": admitted.measure,
    "streams": streams.measure,
    "outage": outage.measure,
    "idle": idle.measure,
    "memory": mirror.measure,
}


def main(arguments: list[str]) -> int:
    """1 where a target was missed."""
    given = vars(parser().parse_args(arguments))
    wanted = given.pop("figures") or list(FIGURES)
    with tempfile.TemporaryDirectory(prefix="turno-bench-") as folder, whole_site(Path(folder)) as site:
        for name, measure in FIGURES.items():
            if name in wanted:
                measure(site, Sizes(**given))
    title("All targets were met." if not missed() else "Missed:")
    for one in missed():
        note(one)
    return 1 if missed() else 0


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog='make bench ARGS="cluster ..."', description=Sizes.__doc__)
    found.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(FIGURES))
    for one in fields(Sizes):
        found.add_argument(f"--{one.name}", type=type(one.default), default=one.default)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
