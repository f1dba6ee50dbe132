"""Recorded exchanges, played against an API without sockets, and what of two answers must be the same."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from portal.cluster.simulated.api import Api
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.exchange import Request, Response, refusal

WIRE = Path(__file__).parents[4] / "shared" / "cases" / "kubernetes" / "wire.jsonl"
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONTROLLERS = ("kube-controller-manager", "kwok-controller", "kueue")
_VERSIONS = re.compile(r"(current: |too old resource version: \d+ \()\d+")
_TOKEN = re.compile(r"kube-api-access-[a-z0-9]{5}")
_NOBODY = "00000000-0000-0000-0000-000000000000"


def exchanges() -> Iterator[dict[str, Any]]:
    """All of them, in the order they were played."""
    with WIRE.open() as lines:
        yield from map(json.loads, lines)


class Player:
    """Plays requests, with the uids and resourceVersions of the record turned into those of this run."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._now: dict[str, str] = {}

    def play(self, exchange: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """(status, body, headers); a watch's body is the list of its events."""
        watching = exchange["method"] == "WATCH"
        headers = {}
        if exchange.get("content_type"):
            headers["content-type"] = exchange["content_type"]
        if exchange["id"] == "list-partial-metadata":
            headers["accept"] = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        method = "GET" if watching else exchange["method"]
        return self.send(method, exchange["path"], exchange.get("request"), headers)

    def send(self, method: str, path: str, body: Any = None, headers: Any = None) -> tuple[int, Any, dict[str, str]]:
        """One request; path and body may name what was recorded."""
        parts = urlsplit(path)
        query = {name: self.now(value) for name, value in parse_qsl(parts.query, keep_blank_values=True)}
        text = "" if body is None else body if isinstance(body, str) else json.dumps(self._translated(body))
        request = Request(
            method, parts.path, query, {"user-agent": "python-urllib3/2", **(headers or {})}, text.encode()
        )
        return asyncio.run(self._answer(request))

    async def _answer(self, request: Request) -> tuple[int, Any, dict[str, str]]:
        try:
            response = self.api.answer(request)
        except ApiError as error:
            response = refusal(error)
        body = response.document if response.text is None else response.text
        if response.stream is not None:
            body = await _events(response) if "watch" in request.query else await _text(response)
        return response.status, body, dict(response.headers)

    def now(self, recorded: str) -> str:
        """What a recorded uid or resourceVersion is in this run."""
        return self._now.get(recorded, recorded)

    def learn(self, recorded: Any, answered: Any) -> None:
        """Pair the uids and resourceVersions of two answers that are the same object, or lists of them."""
        if isinstance(recorded, dict) and isinstance(answered, dict):
            for name, value in recorded.items():
                if name in ("uid", "resourceVersion", "continue") and isinstance(answered.get(name), str):
                    self._now[value] = answered[name]
                else:
                    self.learn(value, answered.get(name))
        elif isinstance(recorded, list) and isinstance(answered, list):
            for one, other in zip(recorded, answered, strict=False):
                self.learn(one, other)

    def _translated(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._translated(below) for name, below in value.items()}
        if isinstance(value, list):
            return [self._translated(below) for below in value]
        return self.now(value) if isinstance(value, str) and (_UIDS.fullmatch(value) or value.isdecimal()) else value


async def _events(response: Response) -> list[Any]:
    """What a stream gives at once."""
    assert response.stream is not None
    events = []
    while True:
        try:
            line = await asyncio.wait_for(anext(response.stream), 0.05)
        except (TimeoutError, StopAsyncIteration):
            await response.stream.aclose()
            return events
        events.append(json.loads(line))


async def _text(response: Response) -> str:
    assert response.stream is not None
    return b"".join([piece async for piece in response.stream]).decode()


def comparable(value: Any, name: str = "") -> Any:
    """Without what differs from run to run: uids, times, versions, made-up names, and the controllers' ownership."""
    if isinstance(value, dict):
        compared = {key: comparable(below, key) for key, below in value.items()}
        return {key: below for key, below in compared.items() if key != "managedFields" or below}
    if name == "managedFields":
        return [comparable(entry) for entry in value if not entry["manager"].startswith(_CONTROLLERS)]
    if name == "ca.crt" and isinstance(value, str):
        return "<certificate>"
    if isinstance(value, list):
        return [comparable(below) for below in value]
    if name in ("resourceVersion", "continue", "kueue.x-k8s.io/role-hash") and isinstance(value, str):
        return f"<{name}>"
    if isinstance(value, str):
        value = _VERSIONS.sub(r"\1<n>", value)
        text = _UIDS.sub(lambda found: found[0] if found[0] == _NOBODY else "<uid>", _TIMES.sub("<time>", value))
        return _TOKEN.sub("kube-api-access-<5>", text)
    return value
