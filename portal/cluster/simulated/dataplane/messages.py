"""What the data plane passes around: a request as the gateway sees it, and an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Incoming:
    """method is "GET" for a WebSocket's opening; host without port; headers in lower case, all of them."""

    method: str
    scheme: str
    host: str
    authority: str
    path: str
    query: str
    headers: Headers
    body: bytes = b""

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    @property
    def uri(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


@dataclass(frozen=True)
class Outgoing:
    """`stream` is sent after `body`, piece by piece."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()
    stream: AsyncIterator[bytes] | None = None

    def with_headers(self, headers: Headers) -> Outgoing:
        return Outgoing(self.status, self.body, self.content_type, (*self.headers, *headers), self.stream)


def as_json(status: int, document: Any, headers: Headers = ()) -> Outgoing:
    return Outgoing(status, orjson.dumps(document), "application/json", headers)
