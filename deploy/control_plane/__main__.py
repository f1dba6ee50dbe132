"""`python -m deploy.control_plane up|down|build|with -- COMMAND`: a local Kubernetes with the real Kueue.

CLUSTER_PORT is the API server's port (a free one unless given), TURNO_CLUSTER_FOLDER where it keeps its files
(`var/cluster` unless given). `with` runs a command beside a control plane of its own, which is gone afterwards; the
command finds it in TURNO_KUBECONFIG, and its folder in TURNO_CLUSTER_FOLDER. Where TURNO_KUBECONFIG names another
cluster already, that one is used and nothing is started.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from deploy.control_plane.building import build
from deploy.control_plane.failures import Refusal
from deploy.control_plane.places import Places
from deploy.control_plane.plane import Plane, down, up

ROOT = Path(__file__).resolve().parents[2]
USAGE = "usage: python -m deploy.control_plane up|down|build|with -- COMMAND"


def say(text: str) -> None:
    print(f"turno: {text}", flush=True)


def places() -> Places:
    return Places(Path(os.environ.get("TURNO_CLUSTER_FOLDER") or ROOT / "var" / "cluster").resolve())


def api_port() -> int:
    """The chosen port, 0 for a free one. Refusal for what is no port."""
    text = os.environ.get("CLUSTER_PORT") or "0"
    if not text.isdecimal() or int(text) > 65535:
        raise Refusal(f"CLUSTER_PORT must be a port between 1 and 65535, not {text!r}")
    return int(text)


def start() -> Plane:
    """`make cluster`, and whoever wants one of a script."""
    began = time.monotonic()
    plane = up(places(), say, api_port=api_port())
    say(f"https://127.0.0.1:{plane.ports.api} is up after {time.monotonic() - began:.1f} s; make cluster-stop ends it")
    say(f"export KUBECONFIG={plane.places.kubeconfig}")
    return plane


def run(command: list[str]) -> int:
    """The command's code, beside the cluster that the person named or one of its own."""
    if os.environ.get("TURNO_KUBECONFIG"):
        return subprocess.run(command, check=False).returncode
    for stop in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, _end)
    own = Places(ROOT / "var" / "test-cluster")
    with _alone(own):
        down(own)
        try:
            up(own, say)
            told = {"TURNO_KUBECONFIG": str(own.kubeconfig), "TURNO_CLUSTER_FOLDER": str(own.folder)}
            return subprocess.run(command, env={**os.environ, **told}, check=False).returncode
        finally:
            down(own)


@contextmanager
def _alone(of: Places) -> Iterator[None]:
    of.folder.parent.mkdir(exist_ok=True)
    with of.folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(f"another run of this checkout uses {of.folder}") from None
        yield


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    """Leaves through every `finally`, so that nothing outlives this process."""
    sys.exit(128 + number)


def main(arguments: list[str]) -> int:
    try:
        if arguments == ["up"]:
            start()
        elif arguments == ["down"]:
            down(places())
            say("the control plane is gone")
        elif arguments == ["build"]:
            say(f"the programs are in {build(say).folder}")
        elif arguments[:2] == ["with", "--"] and len(arguments) > 2:
            return run(arguments[2:])
        else:
            sys.exit(USAGE)
    except Refusal as refusal:
        print(f"turno: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
