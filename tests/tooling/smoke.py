"""`make demo` as a new user meets it: `python -m tests.tooling.smoke CHECKOUT`.

Builds and starts it, submits a training job, stops it with Ctrl-C's signal, starts it again, finds the job, stops it:
and no process is left.
"""

import json
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.tooling.processes import Running, free_port, listens, wait_until

# Twice and three times what is promised for a quiet machine of two cores (90 s and 10 s): the times are printed.
FIRST_PAGE_WITHIN = 180.0
SECOND_START_WITHIN = 30.0
STOPS_WITHIN = 10.0


class Client:
    """The REST API as one member of a team."""

    def __init__(self, credentials: Path) -> None:
        told = json.loads(credentials.read_text())
        self.url: str = told["url"]
        name, user = next((name, user) for name, user in told["users"].items() if user["role"] == "member")
        self.name, self.tenant, self._token = name, user["tenant"], user["token"]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=70) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def submit(self, name: str) -> dict[str, Any]:
        body = {
            "name": name,
            "tenant": self.tenant,
            "flavor": "cpu",
            "gpus": 0,
            "cpu": "1",
            "memory": "1Gi",
            "image": "python",
            "framework": "job",
            "command": ["python", "-c", "print('hello')"],
            "env": {"TURNO_SIM_SECONDS": "1"},
        }
        return self.call("POST", "/api/v1/training-jobs/", body)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def start(command: list[str], port: int, output: Path, environment: dict[str, str], within: float) -> Running:
    """Starts the demo and waits for its first page; AssertionError when that takes longer than promised."""
    began = time.monotonic()
    demo = Running(command, output, {**environment, "PORT": str(port)})
    try:
        page = f"http://127.0.0.1:{port}/login/"
        wait_until(lambda: demo.process.poll() is not None or answers(page), "a page", within)
        demo.wait_for("Ctrl-C stops everything", within=20)
    except AssertionError:
        sys.stdout.write(demo.said)
        demo.end()
        raise
    sys.stdout.write(f"first page after {time.monotonic() - began:.1f} s\n")
    return demo


def stop(demo: Running, port: int) -> None:
    """Ctrl-C: everything ends in time, and the ports are free again."""
    began = time.monotonic()
    demo.signal(signal.SIGINT)
    demo.wait(STOPS_WITHIN + 2)
    assert time.monotonic() - began < STOPS_WITHIN
    wait_until(lambda: not any(listens(port + offset) for offset in range(4)), "free ports", 2)
    sys.stdout.write(f"stopped after {time.monotonic() - began:.1f} s\n")


def play(
    command: list[str], folder: Path, output: Path, environment: dict[str, str], within: tuple[float, float]
) -> None:
    """The whole story of one demo in `folder`; `within` are the seconds until the first and the second start's page."""
    port = free_port(4)
    demo = start(command, port, output, environment, within[0])
    try:
        client = Client(folder / "credentials.json")
        job = client.submit("smoke")
        ended = client.call("GET", f"/api/v1/training-jobs/{job['id']}/?wait=60&for=finished")
        assert ended["state"] == "succeeded", ended
        assert ended["exit_code"] == 0
        stop(demo, port)
        demo = start(command, port, output, environment, within[1])
        again = client.call("GET", f"/api/v1/training-jobs/{job['id']}/")
        assert (again["name"], again["state"]) == ("smoke", "succeeded")
        stop(demo, port)
    finally:
        demo.end()


def main(checkout: str) -> None:
    root = Path(checkout).resolve()
    output = root / "smoke.log"
    command = ["make", "--no-print-directory", "-C", str(root), "demo"]
    play(command, root / "var" / "demo", output, {}, (FIRST_PAGE_WITHIN, SECOND_START_WITHIN))
    sys.stdout.write(output.read_text())


if __name__ == "__main__":
    main(sys.argv[1])
