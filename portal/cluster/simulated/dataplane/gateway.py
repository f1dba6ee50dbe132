"""The gateway: an ASGI application for HTTP and WebSockets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from html import escape
from itertools import count
from typing import Any

from portal.cluster.simulated.controllers.behaviour import role_of
from portal.cluster.simulated.controllers.containers import names, restarts
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.dataplane import notebook, vllm
from portal.cluster.simulated.dataplane.access import Door, for_workload
from portal.cluster.simulated.dataplane.backends import Absence, absence, ready_pods
from portal.cluster.simulated.dataplane.coming import path_of_coming
from portal.cluster.simulated.dataplane.messages import Headers, Incoming, Outgoing, as_json
from portal.cluster.simulated.dataplane.routes import Way, find_way
from portal.cluster.simulated.objects import Obj

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_LONGEST_BODY = 4 * 1024 * 1024
_LOST_RIGHT, _GONE, _REFUSED = 4403, 1001, 1008
_ABSENT = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{seconds}"><title>Not ready</title></head>
<body><main><h1>Not ready</h1><p>{message}</p></main></body></html>
"""


class DataPlane:
    """manager: the cluster behind it. portal_url: who is asked before a notebook is opened. recheck_seconds: how often
    an open WebSocket's right is asked for again."""

    def __init__(self, manager: Manager, portal_url: str, *, recheck_seconds: float = 4.0) -> None:
        self._manager = manager
        self._door = Door(portal_url)
        self._recheck = recheck_seconds
        self._turns = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    # HTTP

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _body(receive)
        if body is None:
            await _send(as_json(413, {"error": "too_large"}), send)
            return
        await _send(await self._answer(_incoming(scope, body)), send)

    async def _answer(self, request: Incoming) -> Outgoing:
        way = find_way(self._manager.world.store, request)
        if way is None:
            return self._unpublished(request)
        added: Headers = ()
        authorization = ""
        if way.asks_first:
            verdict = await self._door.ask(request)
            if not verdict.allowed:
                return verdict.refusal or as_json(401, {"error": "unauthorized"})
            added, authorization = verdict.headers, verdict.authorization
        elif vllm.needs_key(way.path) and not vllm.is_authorized(self._manager.world.store, way.route, request):
            return vllm.unauthorized()
        return (await self._ask_backend(way, for_workload(request, authorization))).with_headers(added)

    def _unpublished(self, request: Incoming) -> Outgoing:
        coming = path_of_coming(request.path, self._manager.world.now())
        if coming is None:
            return as_json(404, {"error": "not_found", "message": "Nothing is published at this address."})
        if vllm.needs_key(coming) and not request.header("authorization"):
            return vllm.unauthorized()
        return _absent(Absence("loading", "It was asked for just now and is not published yet."), request)

    async def _ask_backend(self, way: Way, request: Incoming) -> Outgoing:
        pods = ready_pods(self._manager, way)
        if not pods:
            return _absent(absence(self._manager, way), request)
        pod = pods[next(self._turns) % len(pods)]
        if role_of(pod) == "notebook":
            outgoing = notebook.answer(self._manager.world.store, pod, way.route, request)
        else:
            outgoing = await vllm.answer(pod, request, way.path, int(self._manager.world.now().timestamp()))
        self._note(pod, f"{request.method} {way.path} {outgoing.status}")
        return outgoing

    def _note(self, pod: Obj, what: str) -> None:
        """The server's access log."""
        world, line = self._manager.world, f"INFO access: {what}\n"
        world.logs.append(pod["metadata"]["uid"], names(pod)[0], restarts(pod), world.now(), line.encode())

    # WebSockets

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = _incoming(scope, b"")
        if (await receive())["type"] != "websocket.connect":
            return
        way = find_way(self._manager.world.store, request)
        if way is None or not way.asks_first or not ready_pods(self._manager, way):
            await send({"type": "websocket.close", "code": _REFUSED, "reason": "not available"})
            return
        verdict = await self._door.ask(request)
        if not verdict.allowed:
            await send({"type": "websocket.close", "code": _REFUSED, "reason": "not allowed"})
            return
        seen = for_workload(request, verdict.authorization)
        if not notebook.is_authorized(self._manager.world.store, ready_pods(self._manager, way), seen):
            await send({"type": "websocket.close", "code": _REFUSED, "reason": "no token"})
            return
        headers = [(name.encode(), value.encode()) for name, value in verdict.headers]
        await send({"type": "websocket.accept", "headers": headers})
        await self._converse(request, receive, send)

    async def _converse(self, request: Incoming, receive: Receive, send: Send) -> None:
        """Echo until the browser leaves, the right is lost or the notebook is gone."""
        echoing = asyncio.ensure_future(_echo(receive, send))
        watching = asyncio.ensure_future(self._until_lost(request))
        try:
            await asyncio.wait((echoing, watching), return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not echoing.done():
                code, reason = watching.result()
                await send({"type": "websocket.close", "code": code, "reason": reason})
        finally:
            for task in (echoing, watching):
                task.cancel()
            await asyncio.gather(echoing, watching, return_exceptions=True)

    async def _until_lost(self, request: Incoming) -> tuple[int, str]:
        while True:
            await asyncio.sleep(self._recheck)
            way = find_way(self._manager.world.store, request)
            if way is None or not ready_pods(self._manager, way):
                return _GONE, "the notebook has stopped"
            if not (await self._door.ask(request)).allowed:
                return _LOST_RIGHT, "you may no longer open this notebook"


async def _echo(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        if message["type"] == "websocket.receive":
            kept = {field: message[field] for field in ("text", "bytes") if message.get(field) is not None}
            await send({"type": "websocket.send", **kept})


def _absent(why: Absence, request: Incoming) -> Outgoing:
    """At once, in JSON, or as a page that looks again for a browser."""
    headers = (("retry-after", str(why.retry_after)), ("cache-control", "no-store"))
    if "text/html" in request.header("accept"):
        page = _ABSENT.format(seconds=why.retry_after, message=escape(why.message))
        return Outgoing(503, page.encode(), "text/html; charset=utf-8", headers)
    return as_json(503, {"error": "not_ready", "state": why.state, "message": why.message}, headers)


def _incoming(scope: Scope, body: bytes) -> Incoming:
    headers = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"])
    authority = next((value for name, value in headers if name == "host"), "")
    secure = scope.get("scheme") in ("https", "wss")
    return Incoming(
        method=scope.get("method", "GET"),
        scheme="https" if secure else "http",
        host=authority.rpartition(":")[0].lower() if ":" in authority else authority.lower(),
        authority=authority,
        path=scope["path"],
        query=scope.get("query_string", b"").decode("latin-1"),
        headers=headers,
        body=body,
    )


async def _body(receive: Receive) -> bytes | None:
    """The whole body, None when it is too large or the client went away."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > _LONGEST_BODY:
            return None
        if not message.get("more_body"):
            return bytes(body)


async def _send(outgoing: Outgoing, send: Send) -> None:
    headers = [("content-type", outgoing.content_type), *outgoing.headers]
    if outgoing.stream is None:
        headers.append(("content-length", str(len(outgoing.body))))
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": outgoing.status, "headers": encoded})
    if outgoing.stream is not None:
        async for piece in outgoing.stream:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": outgoing.body})
