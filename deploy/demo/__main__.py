"""`python -m deploy.demo` runs the demo; `python -m deploy.demo reset` forgets what it kept.

With CLUSTER=kubernetes it runs on the control plane of `make cluster`, which is started where it does not run and goes
on when the demo ends; what the demo keeps lies with it, since the one means nothing without the other.
"""

import os
import shutil
import sys
from pathlib import Path

from deploy.control_plane.__main__ import places as control_plane_places
from deploy.control_plane.__main__ import start as start_control_plane
from deploy.control_plane.failures import Refusal as NoControlPlane
from deploy.demo import preflight
from deploy.demo.places import ROOT, Places, ports
from deploy.demo.programs import Kubernetes, all_programs, all_steps
from deploy.demo.supervisor import Supervisor, say, shown

CLUSTERS = ("simulated", "kubernetes")


def run(places: Places, real: Kubernetes | None) -> None:
    numbers = ports()
    preflight.check_ports(numbers)
    preflight.check_database(places.database)
    places.create()
    Supervisor(places, numbers, all_programs(places, numbers, real), all_steps(numbers, real)).run()


def cluster() -> str:
    """Which cluster the demo runs on. Refusal for one that there is not."""
    chosen = os.environ.get("CLUSTER") or "simulated"
    if chosen not in CLUSTERS:
        raise preflight.Refusal(f"CLUSTER must be {' or '.join(CLUSTERS)}, not {chosen!r}")
    return chosen


def folder(chosen: str) -> Path:
    usual = ROOT / "var" / "demo" if chosen == "simulated" else control_plane_places().folder / "demo"
    return Path(os.environ.get("TURNO_DEMO_FOLDER") or usual).resolve()


def real_cluster() -> Kubernetes:
    plane = start_control_plane()
    return Kubernetes(str(plane.places.kubeconfig), f"https://127.0.0.1:{plane.ports.api}")


def reset(places: Places) -> None:
    if places.folder.exists():
        shutil.rmtree(places.folder)
    say(f"{shown(places.folder)} is gone; the next make demo starts anew")


def main() -> int:
    try:
        chosen = cluster()
        resets = sys.argv[1:] == ["reset"]
        real = real_cluster() if chosen == "kubernetes" and not resets else None
        places = Places(folder(chosen))
        with preflight.take_lock(places):
            if resets:
                reset(places)
            else:
                run(places, real)
    except (preflight.Refusal, NoControlPlane, ValueError) as refusal:
        print(f"turno: {refusal}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"turno: {error.filename or 'the demo'}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
