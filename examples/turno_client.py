"""Turno over REST with nothing but Python: who I am, one call, waiting for a state."""

from __future__ import annotations

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any

LONGEST_WAIT = 60  # seconds that one long poll may take
SILENCE = 300  # seconds after which a log that says nothing is asked for anew


class Refused(Exception):
    """Turno said no. `status` and `problem` are its own (RFC 9457)."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        faults = "; ".join(f"{fault['field']}: {fault['message']}" for fault in problem.get("errors", []))
        super().__init__(f"{status} {problem.get('code')}: {faults or problem.get('detail') or problem.get('title')}")
        self.status, self.problem = status, problem


class Unexpected(Exception):
    """Something is not as it should be."""


class Turno:
    """One person's or machine's view of the portal."""

    def __init__(self, url: str, token: str, tenant: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.token = token.strip()
        self.tenant = tenant
        self._began = 0.0  # this process's monotonic clock, by the server's

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = "") -> Any:
        """One request below `/api/v1`. A POST carries a key, so trying it again cannot make a second thing: its own,
        or the caller's, who may then come back with it in another process."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        for patience in (1, 2, 4, 8, None):
            try:
                return self._send(method, path, body, headers)
            except (Refused, urllib.error.URLError) as error:
                passing = not isinstance(error, Refused) or error.status in (429, 503)
                if patience is None or not passing:
                    raise
                time.sleep(patience)
        return None

    def _send(self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_WAIT + 10) as answer:
                content = answer.read()
                return json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.load(error)) from None

    def follow(self, path: str, run: int, since: float | None = None) -> Iterator[str]:
        """The lines of a run's log as they come, until it is over. OSError where the connection breaks, or where
        nothing comes for a while. `since`: seconds as `now` gives them; whatever was written from then on.
        """
        headers = {"Authorization": f"Bearer {self.token}"}
        begin = "tail=10000" if since is None else f"since={datetime.fromtimestamp(since, UTC):%Y-%m-%dT%H:%M:%SZ}"
        address = f"{self.url}/api/v1{path}logs/?run={run}&follow=true&{begin}"
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=SILENCE) as answer:
                self._began = parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.monotonic()
                rest = b""
                while piece := answer.read1(65536):  # iterating over the answer would take a break for its end
                    *lines, rest = (rest + piece).split(b"\n")
                    yield from (f"{line.decode(errors='replace')}\n" for line in lines)
                yield rest.decode(errors="replace")
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.load(error)) from None
        except HTTPException as broken:
            raise ConnectionError(str(broken)) from broken

    def now(self) -> float:
        """What time it is for the server, in seconds, by its answer to the last `follow`."""
        return time.monotonic() + self._began

    def wait(self, workload: dict[str, Any], *, until: str, within: float) -> dict[str, Any]:
        """The workload once it is `running` or `finished`; Unexpected when that takes too long or cannot be."""
        deadline = time.monotonic() + within
        path = workload["url"].partition("/api/v1")[2]
        while True:
            left = max(0, min(LONGEST_WAIT, round(deadline - time.monotonic())))
            found: dict[str, Any] = self.call("GET", f"{path}?wait={left}&for={until}")
            over = found["state"] in ("succeeded", "failed", "stopped")
            if over if until == "finished" else found["state"] == "running":
                return found
            if over or time.monotonic() > deadline:
                raise Unexpected(f"{found['name']} is {found['state']}, not {until}: {found['message']}")


def everybody(parser: ArgumentParser | None = None) -> dict[str, Turno]:
    """Every account of the demo by name, from the file that `--credentials` names.

    Without a file `TURNO_URL` and `TURNO_TOKEN` are one account, which is called `me`. `parser`: of a program that
    takes more arguments.
    """
    parser = parser or ArgumentParser()
    parser.add_argument("--credentials", type=Path, help="such as var/demo/credentials.json")
    file = parser.parse_args().credentials
    if file is None and "TURNO_TOKEN" in os.environ:
        return {"me": Turno(os.environ.get("TURNO_URL", "http://127.0.0.1:8000").strip(), os.environ["TURNO_TOKEN"])}
    if file is None:
        sys.exit("Give --credentials var/demo/credentials.json, or TURNO_URL and TURNO_TOKEN.")
    told = json.loads(file.read_text())
    return {name: Turno(told["url"], user["token"], user["tenant"]) for name, user in told["users"].items()}
