"""One HTTP exchange, between ASGI and the handlers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from portal.cluster.simulated.errors import ApiError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LONGEST_BODY = 3 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    def flag(self, name: str) -> bool:
        """A boolean of the query, as Kubernetes reads them."""
        return self.query.get(name, "").lower() in ("1", "true", "t")


@dataclass(frozen=True)
class Response:
    """`document` is sent as JSON, `text` as plain text, `stream` in pieces as they come."""

    status: int = 200
    document: Any = None
    text: str | None = None
    stream: AsyncGenerator[bytes, None] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal(error: ApiError) -> Response:
    """The answer that tells of an error."""
    seconds = (error.details or {}).get("retryAfterSeconds")
    return Response(error.status, error.body(), headers={"retry-after": str(seconds)} if seconds else {})


async def receive_request(scope: Scope, receive: Receive) -> Request:
    """Raises ApiError (413) for a body that is too large."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _LONGEST_BODY:
            text = "Request entity too large: limit is 3145728"
            raise ApiError(413, "RequestEntityTooLarge", text)
        if not message.get("more_body"):
            break
    return Request(
        method=scope["method"],
        path=unquote(scope["path"]),
        query=dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=body,
    )


async def answer(response: Response, receive: Receive, send: Send) -> None:
    """Send a response; a stream ends when its reader goes away."""
    if response.stream is None:
        await send_response(response, send)
        return
    sending = asyncio.ensure_future(send_response(response, send))
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_response(response: Response, send: Send) -> None:
    """Each piece of a stream goes out as soon as it is there."""
    body = b"" if response.document is None else orjson.dumps(response.document)
    kind = "application/json"
    if response.text is not None:
        body, kind = response.text.encode(), "text/plain; charset=utf-8"
    headers = {"content-type": kind, **response.headers}
    if response.stream is None:
        headers["content-length"] = str(len(body))
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": encoded})
    if response.stream is not None:
        async with aclosing(response.stream) as pieces:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": body})
