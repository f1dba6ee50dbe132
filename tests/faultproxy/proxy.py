"""A proxy on the loopback address that breaks what passes through it: before either engine, in any test.

    with FaultProxy("http://127.0.0.1:8001") as proxy:
        proxy.add(Fault("reset_after", match="^POST .*/jobs", times=1))   # the write happens, its answer is lost
        ...
        assert proxy.taken == ["reset_after POST /apis/batch/v1/namespaces/a/jobs"]

Faults, each for requests whose "METHOD path?query" matches, `times` often (None: until removed):

| do | what the client sees |
|---|---|
| `delay` | the answer, `seconds` later |
| `hang` | nothing for `seconds`; then the connection is closed |
| `status` | an answer with `status`, a Kubernetes `Status` body with `reason`, and Retry-After if `retry_after` |
| `reset_before` | a reset connection; the request never arrives |
| `reset_after` | a reset connection; the request was answered upstream |
| `truncate` | the first `bytes` of the answer's body, then a reset |
| `mute` | the answer's head and the first `bytes` of its body, then silence for `seconds` |
| `hold` | the request waits for `release()` and then goes on, whatever became of its sender meanwhile |
| `hold_after` | the request is answered upstream; the answer waits for `release()` |
| `double` | each piece of a chunked answer twice: every event of a watch |
| `swap` | pieces of a chunked answer in pairs, the later first, where they come within `seconds` |
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_REASONS = {
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


@dataclass
class Fault:
    """One rule; see the module's table."""

    do: str
    match: str = ""
    times: int | None = None
    status: int = 500
    reason: str = ""
    retry_after: int | None = None
    seconds: float = 1.0
    bytes: int = 0
    released: bool = False

    def release(self) -> None:
        """Lets go of what is held, and holds nothing any more."""
        self.times, self.released = 0, True

    async def until_released(self) -> None:
        while not self.released:  # noqa: ASYNC110  it is set by another thread
            await asyncio.sleep(0.005)

    def takes(self, request: str) -> bool:
        return self.times != 0 and re.search(self.match, request) is not None

    def answer(self) -> bytes:
        """The whole answer of a `status` fault."""
        reason = self.reason or _REASONS.get(self.status, "InternalError")
        words = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.status}
        body = json.dumps({**words, "reason": reason, "message": "injected"}).encode()
        after = f"Retry-After: {self.retry_after}\r\n" if self.retry_after is not None else ""
        head = f"HTTP/1.1 {self.status} Injected\r\nContent-Type: application/json\r\n{after}"
        return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


@dataclass
class FaultProxy:
    """Listens from `__enter__` to `__exit__`. `taken`: the faults that happened, in order; `seen`: every request."""

    upstream: str
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="faultproxy", daemon=True)
        self._thread.start()
        self._run(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        self.faults.remove(fault)

    def cut(self) -> None:
        """Resets every open connection, watches and log streams included."""
        self._run(self._abort_all())

    def refuse(self) -> None:
        """Nobody listens any more, and what was open is reset: the server is down."""
        self._run(self._close())
        self.cut()

    def accept(self) -> None:
        """Listens again, on the same port."""
        self._run(self._listen())

    def _run(self, work: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(_awaited(work), self._loop).result(10)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 24)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _abort_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _stop(self) -> None:
        await self._close()
        for _ in range(2):  # what was accepted at the last moment has its turn after the others
            await self._abort_all()
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0)  # what was aborted is told of it

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            head, body = await _request(reader)
            method, path = head.split(b" ", 2)[:2]
            await self._handle(f"{method.decode()} {path.decode()}", head, body, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            with suppress(OSError, RuntimeError):
                writer.close()

    async def _handle(self, request: str, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.seen.append(request)
        fault = next((each for each in self.faults if each.takes(request)), None)
        if fault is not None:
            fault.times = fault.times - 1 if fault.times is not None else None
            self.taken.append(f"{fault.do} {request.partition('?')[0]}")
            if await self._before(fault, writer):
                return
        await self._pass_on(head, body, writer, fault)

    async def _before(self, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """What happens before the request is passed on; True where it never is."""
        if fault.do in ("delay", "hang"):
            await asyncio.sleep(fault.seconds)
        elif fault.do == "hold":
            await fault.until_released()
        elif fault.do == "reset_before":
            writer.transport.abort()
        elif fault.do == "status":
            writer.write(fault.answer())
            await writer.drain()
        return fault.do in ("hang", "reset_before", "status")

    async def _pass_on(self, head: bytes, body: bytes, writer: asyncio.StreamWriter, fault: Fault | None) -> None:
        place = urlsplit(self.upstream)
        upstream, sender = await asyncio.open_connection(place.hostname, place.port)
        self._open.add(sender)
        try:
            sender.write(_rewritten(head, place.netloc) + body)
            await sender.drain()
            if fault is not None and fault.do == "reset_after":
                await upstream.read(1)
                writer.transport.abort()
                return
            if fault is not None and fault.do == "hold_after":
                head = await upstream.read(1)
                await fault.until_released()
                writer.write(head)
            if fault is not None and fault.do in ("double", "swap"):
                await _rearranged(upstream, writer, fault)
                return
            limit = fault.bytes if fault is not None and fault.do in ("truncate", "mute") else None
            cut = await _copy(upstream, writer, limit)
            if cut and fault is not None:
                if fault.do == "mute":
                    await asyncio.sleep(fault.seconds)
                writer.transport.abort()
        finally:
            self._open.discard(sender)
            sender.transport.abort()


async def _awaited(work: Awaitable[None]) -> None:
    await work


async def _request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return head, await reader.readexactly(int(length[1])) if length else b""


def _rewritten(head: bytes, host: str) -> bytes:
    """One request a connection: keeps the proxy simple and every fault exact."""
    head = re.sub(rb"(?i)\r\n(connection|host):[^\r]*", b"", head)
    return head[:-2] + b"Host: " + host.encode() + b"\r\nConnection: close\r\n\r\n"


async def _copy(upstream: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> bool:
    """Copies the answer; True where it stopped at `limit` bytes of the body."""
    head = await upstream.readuntil(b"\r\n\r\n")
    writer.write(re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)[:-2] + b"Connection: close\r\n\r\n")
    sent = 0
    while data := await upstream.read(65536):
        if limit is not None and sent + len(data) >= limit:
            writer.write(data[: limit - sent])
            await writer.drain()
            return True
        sent += len(data)
        writer.write(data)
        await writer.drain()
    return False


async def _rearranged(upstream: asyncio.StreamReader, writer: asyncio.StreamWriter, fault: Fault) -> None:
    """Copies an answer piece by piece; one that is not chunked as it is."""
    head = await upstream.readuntil(b"\r\n\r\n")
    writer.write(re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)[:-2] + b"Connection: close\r\n\r\n")
    if b"chunked" not in head.lower():
        writer.write(await upstream.read())
        return
    coming = asyncio.ensure_future(_chunk(upstream))
    while piece := await coming:
        coming = asyncio.ensure_future(_chunk(upstream))
        if fault.do == "double":
            piece += piece
        elif (await asyncio.wait([coming], timeout=fault.seconds))[0] and (later := coming.result()):
            piece = later + piece
            coming = asyncio.ensure_future(_chunk(upstream))
        writer.write(piece)
        await writer.drain()
    writer.write(b"0\r\n\r\n")


async def _chunk(upstream: asyncio.StreamReader) -> bytes:
    """One piece with its frame; empty at the end."""
    size = await upstream.readuntil(b"\r\n")
    body = await upstream.readexactly(int(size, 16) + 2)
    return size + body if int(size, 16) else b""
