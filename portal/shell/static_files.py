"""Serving static files in front of Django: an ASGI wrapper over WhiteNoise's files, so that no thread is held."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from whitenoise import WhiteNoise

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
CHUNK = 65_536


def _files() -> WhiteNoise:
    """The collected files (compressed), or the sources where nothing was collected."""
    found = WhiteNoise(None, max_age=3600)
    root = Path(settings.STATIC_ROOT)
    if root.is_dir():
        found.add_files(str(root), prefix=settings.STATIC_URL)
        return found
    for finder in get_finders():
        for storage in getattr(finder, "storages", {}).values():
            found.add_files(storage.location, prefix=settings.STATIC_URL)
    return found


def with_static_files(application: Application) -> Application:
    """Answers GET and HEAD below STATIC_URL; everything else goes on to `application`."""
    files = _files()

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        found = files.files.get(scope.get("path", "")) if scope["type"] == "http" else None
        if found is None:
            await application(scope, receive, send)
            return
        environ = {f"HTTP_{k.decode().upper().replace('-', '_')}": v.decode("latin-1") for k, v in scope["headers"]}
        answer = found.get_response(scope["method"], environ)
        headers = [(k.lower().encode(), str(v).encode("latin-1")) for k, v in answer.headers]
        headers.append((b"x-content-type-options", b"nosniff"))
        await send({"type": "http.response.start", "status": answer.status.value, "headers": headers})
        body = b""
        if answer.file is not None:
            with answer.file:
                while chunk := answer.file.read(CHUNK):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": body})

    return handler
