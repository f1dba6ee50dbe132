"""Witnesses beside Turno: the API server's audit log, and bare watches."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.port import ClusterError, JsonObject
from tests.tooling.processes import wait_until

READS = frozenset({"get", "list", "watch"})
OURS = "system:serviceaccount:turno-system:"


@dataclass(frozen=True)
class Request:
    """One line of the audit log. `process`: whose account it was; `at`: RFC 3339."""

    process: str
    verb: str
    resource: str
    name: str
    code: int
    at: str

    @property
    def writes(self) -> bool:
        return self.verb not in READS

    def __str__(self) -> str:
        return f"{self.process} {self.verb} {self.resource}"


class AuditLog:
    """What Turno's processes asked for since this was made, or since the last `take`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._at = file.stat().st_size

    def take(self) -> list[Request]:
        """Whole lines only. A watch counts when it begins."""
        with self._file.open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        return [found for line in whole.splitlines() if OURS.encode() in line and (found := _request(line))]


def _request(line: bytes) -> Request | None:
    said = json.loads(line)
    user = said["user"]["username"]
    begun = said["stage"] == "ResponseStarted"
    if not user.startswith(OURS) or (said["verb"] == "watch") != begun:
        return None
    about = said.get("objectRef") or {}
    resource = about.get("resource") or said["requestURI"].partition("?")[0]
    parts = [resource, about.get("subresource")]
    return Request(
        user.removeprefix(OURS),
        said["verb"],
        "/".join(part for part in parts if part),
        about.get("name") or "",
        int((said.get("responseStatus") or {}).get("code") or 0),
        said["requestReceivedTimestamp"],
    )


def counted(requests: list[Request]) -> str:
    """`worker create jobs 1, …`, the most frequent first."""
    return ", ".join(f"{what} {count}" for what, count in Counter(map(str, requests)).most_common())


class Bare(threading.Thread):
    """A bare watch of a kind from now on, with a client of its own.

    `at`: when it heard of something first, by key, in seconds of the monotonic clock; a key of None is not what is
    looked for. `listed`: what is there already counts as heard of now. A watch that was cut lists again.
    """

    def __init__(self, kubeconfig: str, kind: str, key: Callable[[JsonObject], str | None], *, listed: bool) -> None:
        super().__init__(name=f"bare-{kind}", daemon=True)
        self.at: dict[str, float] = {}
        self.over, self.ready = threading.Event(), threading.Event()
        self._gateway = KubeGateway(Connection(kubeconfig), manager="bench")
        self._kind, self._key, self._listed = kind, key, listed

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self._once()
            except ClusterError:
                time.sleep(0.1)

    def _once(self) -> None:
        whole = self._listed or self.ready.is_set()
        page = self._gateway.list(self._kind, limit=20_000 if whole else 1)
        for one in page.items if whole else ():
            self._hear(one)
        events = self._gateway.watch(self._kind, resource_version=page.resource_version, timeout_seconds=600)
        with closing(events):
            self.ready.set()
            for event in events:
                if event.type in {"ADDED", "MODIFIED"}:
                    self._hear(event.object)
                if self.over.is_set():
                    return

    def _hear(self, one: JsonObject) -> None:
        found = self._key(one)
        if found is not None:
            self.at.setdefault(found, time.monotonic())

    def until(self, count: int, within: float) -> None:
        """Until so many were heard of. Raises AssertionError."""
        wait_until(lambda: len(self.at) >= count, f"{count} of {self._kind} are heard of", within, every=0.02)


@contextmanager
def watching(
    kubeconfig: str, kind: str, key: Callable[[JsonObject], str | None], *, listed: bool = False
) -> Iterator[Bare]:
    bare = Bare(kubeconfig, kind, key, listed=listed)
    bare.start()
    bare.ready.wait(10)
    time.sleep(0.3)
    try:
        yield bare
    finally:
        bare.over.set()
