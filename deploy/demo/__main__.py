"""`python -m deploy.demo` runs the demo; `python -m deploy.demo reset` forgets what it kept."""

import os
import shutil
import sys
from pathlib import Path

from deploy.demo import preflight
from deploy.demo.places import ROOT, Places, ports
from deploy.demo.programs import all_programs, all_steps
from deploy.demo.supervisor import Supervisor, say, shown


def run(places: Places) -> None:
    numbers = ports()
    preflight.check_ports(numbers)
    preflight.check_database(places.database)
    places.create()
    Supervisor(places, numbers, all_programs(places, numbers), all_steps(numbers)).run()


def reset(places: Places) -> None:
    if places.folder.exists():
        shutil.rmtree(places.folder)
    say(f"{shown(places.folder)} is gone; the next make demo starts anew")


def main() -> int:
    places = Places(Path(os.environ.get("TURNO_DEMO_FOLDER") or ROOT / "var" / "demo").resolve())
    try:
        with preflight.take_lock(places):
            if sys.argv[1:] == ["reset"]:
                reset(places)
            else:
                run(places)
    except (preflight.Refusal, ValueError) as refusal:
        print(f"turno: {refusal}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"turno: {error.filename or places.folder}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
