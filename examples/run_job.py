"""One training job from a pipeline: asks for it, says why it waits, shows its log, and ends with its exit code.

    TURNO_TOKEN=… python examples/run_job.py job.json --key "$PIPELINE-$BUILD"

`job.json` is the body of `POST /training-jobs/`. Started again with the same key, as a pipeline does after a lost
machine, it goes on with the same job instead of asking for a second one. A job that is still queued is no failure: its
log is followed from there on. The status is the job's own exit code; 1 where it has none (stopped, evicted, no image).
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from turno_client import Refused, Turno, everybody

NEWS_EVERY = 5  # seconds after which a job that still waits is asked for its reason again
AGAIN = 5  # seconds of a log that are asked for again: a line is on its way for a moment
FINAL = ("succeeded", "failed", "stopped", "deleted")


def arguments() -> ArgumentParser:
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("job", type=Path, help="the body of the request, as JSON")
    parser.add_argument("--key", required=True, help="names this build: the same key is the same job")
    parser.add_argument("--as", dest="who", default="me", help="whose token of --credentials")
    return parser


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def until_it_runs(turno: Turno, path: str) -> dict[str, Any]:
    """The job once it runs or is over; each new reason why it waits is said."""
    said = ""
    while True:
        found: dict[str, Any] = turno.call("GET", f"{path}?wait={NEWS_EVERY if said else 0}&for=running")
        if found["state"] == "running" or found["state"] in FINAL:
            return found
        if found["message"] != said:
            said = found["message"]
            say(f"{found['state']}: {said}")


def show_log(turno: Turno, path: str, run: int) -> None:
    """The run's lines on the standard output. After a broken connection it goes on where it was; some of the lines of
    the last seconds may come again, none is missing."""
    since: float | None = None
    while True:
        try:
            for line in turno.follow(path, run, since):
                print(line, end="", flush=True)
                since = turno.now() - AGAIN
        except TimeoutError:
            continue  # it has said nothing for long
        except OSError as error:
            say(f"the log was cut off ({error}), going on")
            time.sleep(1)
        else:
            return


def until_it_ends(turno: Turno, path: str) -> dict[str, Any]:
    """The job once it is over; a run that fails and is tried again is shown as well."""
    while True:
        found = until_it_runs(turno, path)
        run = found["run"]
        show_log(turno, path, run)
        while found["run"] == run:
            found = turno.call("GET", f"{path}?wait=5&for=finished")
            if found["state"] in FINAL:
                return found


def main() -> int:
    parser = arguments()
    people = everybody(parser)
    asked = parser.parse_args()
    turno = people[asked.who]
    try:
        made = turno.call("POST", "/training-jobs/", json.loads(asked.job.read_text()), key=asked.key)
        say(f"{made['name']} is {made['id']}")
        ended = until_it_ends(turno, f"/training-jobs/{made['id']}/")
    except Refused as refusal:
        say(str(refusal))
        return 1
    say(f"{ended['state']}: {ended['message']}")
    if ended["exit_code"] is not None:
        return int(ended["exit_code"])
    return 0 if ended["state"] == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
