"""What containers wrote: the kubelet's log files of the simulated cluster.

One stream per (pod uid, container, restart). A line keeps the bytes that were written (they need not be UTF-8) and
the time of its writing. Only the newest 10 MiB of a stream are kept, as a kubelet's rotation would.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

StreamKey = tuple[str, str, int]
_STREAM_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class Line:
    """`text` ends with its newline, except where the container ended in the middle of a line."""

    time: datetime
    text: bytes

    def stamped(self) -> bytes:
        """As `timestamps=true` shows it: RFC 3339 with nanoseconds, a space, the line."""
        moment = self.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z "
        return moment.encode() + self.text


@dataclass
class _Stream:
    lines: deque[Line] = field(default_factory=deque)
    dropped: int = 0
    size: int = 0
    rest: Line | None = None
    ended: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Wake everybody who waits for this stream; the next wait is for the next news."""
        self.news.set()
        self.news = asyncio.Event()


class LogBook:
    """All streams. directory: where to keep them over a restart (one file a stream, in the CRI's format: time, stream,
    F, text); None keeps them in memory only. Raises OSError when the directory cannot be used."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._streams: dict[StreamKey, _Stream] = {}
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            for path in sorted(directory.glob("*/*.log")):
                self._load(path)

    def append(self, pod_uid: str, container: str, restart: int, time: datetime, data: bytes) -> None:
        """Add what a container wrote; an unfinished line waits for its end."""
        stream = self._streams.setdefault((pod_uid, container, restart), _Stream())
        if stream.rest is not None:
            data, time = stream.rest.text + data, stream.rest.time
            stream.rest = None
        for text in _split(data):
            line = Line(time, text)
            if text.endswith(b"\n"):
                self._add((pod_uid, container, restart), stream, line)
            else:
                stream.rest = line
        stream.tell()

    def end(self, pod_uid: str, container: str, restart: int) -> None:
        """The container has ended: followers read the rest and stop."""
        key = (pod_uid, container, restart)
        stream = self._streams.setdefault(key, _Stream())
        if stream.rest is not None:
            self._add(key, stream, stream.rest)
            stream.rest = None
        stream.ended = True
        stream.tell()

    def forget(self, pod_uid: str) -> None:
        """The pod is gone from its node, and its logs with it."""
        for key in [key for key in self._streams if key[0] == pod_uid]:
            stream = self._streams.pop(key)
            stream.ended = True
            stream.tell()
        if self._directory is not None:
            shutil.rmtree(self._directory / pod_uid, ignore_errors=True)

    def has(self, pod_uid: str, container: str, restart: int) -> bool:
        return (pod_uid, container, restart) in self._streams

    def read(self, pod_uid: str, container: str, restart: int, start: int = 0) -> tuple[list[Line], int]:
        """Lines from number `start` on, and the number to go on from. Rotated lines are missing at the front."""
        stream = self._streams.get((pod_uid, container, restart))
        if stream is None:
            return [], start
        skip = max(start - stream.dropped, 0)
        return list(stream.lines)[skip:], stream.dropped + len(stream.lines)

    def ended(self, pod_uid: str, container: str, restart: int) -> bool:
        """True also for a stream that is forgotten or never was."""
        stream = self._streams.get((pod_uid, container, restart))
        return stream is None or stream.ended

    async def wait(self, pod_uid: str, container: str, restart: int) -> None:
        """Until something new is in this stream; at once when it has ended."""
        stream = self._streams.get((pod_uid, container, restart))
        if stream is not None and not stream.ended:
            await stream.news.wait()

    def _add(self, key: StreamKey, stream: _Stream, line: Line) -> None:
        _keep(stream, line)
        if self._directory is not None:
            path = self._directory / key[0] / f"{key[1]}-{key[2]}.log"
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as file:
                file.write(_cri(line))

    def _load(self, path: Path) -> None:
        container, _, restart = path.stem.rpartition("-")
        stream = self._streams.setdefault((path.parent.name, container, int(restart)), _Stream())
        for line in _cri_lines(path.read_bytes()):
            _keep(stream, line)


def _keep(stream: _Stream, line: Line) -> None:
    stream.lines.append(line)
    stream.size += len(line.text)
    while stream.size > _STREAM_BYTES and len(stream.lines) > 1:
        stream.size -= len(stream.lines.popleft().text)
        stream.dropped += 1


def _split(data: bytes) -> list[bytes]:
    """Lines by newline alone: a carriage return is content."""
    whole, newline, rest = data.rpartition(b"\n")
    lines = [line + b"\n" for line in whole.split(b"\n")] if newline else []
    return [*lines, rest] if rest else lines


def _cri(line: Line) -> bytes:
    moment, tag = line.time.astimezone(UTC).isoformat().encode(), b"F" if line.text.endswith(b"\n") else b"P"
    return b" ".join((moment, b"stdout", tag, line.text.removesuffix(b"\n"))) + b"\n"


def _cri_lines(data: bytes) -> Iterator[Line]:
    for raw in data.rpartition(b"\n")[0].split(b"\n"):
        moment, _, rest = raw.partition(b" stdout ")
        tag, _, text = rest.partition(b" ")
        if tag in (b"F", b"P"):
            yield Line(datetime.fromisoformat(moment.decode()), text + (b"\n" if tag == b"F" else b""))
