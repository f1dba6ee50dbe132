"""More requests at once than one process takes are refused in the API's own form, not in the server's bare words.

Long polls and followed logs are counted by themselves: while they wait they hold no thread, but memory, and however
many wait, everybody else is answered. Who is refused is asked to come back in a moment; a retry with the same
`Idempotency-Key` is safe.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from portal.shell.static_files import Application, Receive, Scope, Send

MOST = 1_000
RETRY_AFTER = 2
SENTENCE = "Too many requests are being answered at this moment; try again."


def with_a_limit(application: Application, most: int = MOST) -> Application:
    """Answers 503 with `Retry-After` while `most` requests of the same sort are being answered; all else goes on."""
    running: Counter[bool] = Counter()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        waits = _waits(scope)
        if running[waits] >= most:
            await _refuse(scope["path"], send)
            return
        running[waits] += 1
        try:
            await application(scope, receive, send)
        finally:
            running[waits] -= 1

    return handler


def _waits(scope: Scope) -> bool:
    """Whether its answer comes later by its own wish (`wait=`, `follow=`)."""
    query = scope.get("query_string", b"")
    return b"wait=" in query or b"follow=" in query


async def _refuse(path: str, send: Send) -> None:
    kind, body = _problem(path) if path.startswith("/api/") else ("text/plain; charset=utf-8", SENTENCE)
    content = body.encode()
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(content)).encode()),
        (b"retry-after", str(RETRY_AFTER).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    start: Mapping[str, Any] = {"type": "http.response.start", "status": 503, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": content})


def _problem(path: str) -> tuple[str, str]:
    body = {
        "type": "urn:turno:problem:unavailable",
        "title": "Not available now",
        "status": 503,
        "detail": SENTENCE,
        "code": "unavailable",
        "instance": path,
    }
    return "application/problem+json", json.dumps(body)
