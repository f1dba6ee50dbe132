"""From the bytes of a container's log to text that can be stored, and from a broken stream to its continuation. Pure.

The server puts its time stamp before each line and filters by whole seconds. Which lines of those seconds are known is
therefore counted: the log only grows, so what passes the filter twice begins the same way twice, even where the stamps
of stdout and stderr are a little out of order.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

# What is kept of one life of one container: its newest bytes.
WINDOW = 2 * 1024 * 1024
LONG_LINE = 32 * 1024
_STAMP = re.compile(rb"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) ")
_LONGEST_STAMP = 48
_NUL = {0: "\N{SYMBOL FOR NULL}"}
# What a container runtime says in the place of a log; the server answers 200 with it.
_NOTICES = (b"unable to retrieve container logs", b"failed to try resolving symlinks", b"rpc error:")


@dataclass(frozen=True)
class Resume:
    """What of a log is known: see `LogStream`. The default: nothing."""

    second: int = 0
    stamp: str = ""
    lines: int = 0
    open_bytes: int = 0

    @property
    def since(self) -> str:
        """RFC 3339 for the server; empty for everything."""
        return datetime.fromtimestamp(self.second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if self.stamp else ""


@dataclass(frozen=True)
class Piece:
    """A line, or a part of a very long one. `gap`: something is missing before it. `resume`: how to go on after it."""

    second: int
    stamp: str
    text: str
    size: int
    resume: Resume
    gap: bool = False


class LineReader:
    """Feeds on bytes as they arrive and gives pieces; `notice` is what the runtime said in the log's place."""

    def __init__(self, resume: Resume | None = None) -> None:
        self._expected = resume or Resume()
        self._skip_lines = self._expected.lines
        self._verified = not self._expected.stamp
        self._rest = b""
        self._window: deque[tuple[int, str]] = deque()
        self._newest = 0
        self._line: _Line | None = None
        self._gap = False
        self._seconds: dict[bytes, int] = {}
        self.notice = ""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces that are whole now."""
        *ends, rest = (self._rest + data).split(b"\n")
        for part in ends:
            *longs, last = _bounded(part)
            for each in longs:
                yield from self._part(each, ends_line=False)
            yield from self._part(last, ends_line=True)
        *longs, self._rest = _bounded(rest)
        for each in longs:
            yield from self._part(each, ends_line=False)

    def finish(self) -> Iterator[Piece]:
        """The log has ended: what is left is its last line, without an end."""
        rest, self._rest = self._rest, b""
        if rest or self._line is not None:
            yield from self._part(rest, ends_line=True, newline="")

    def _part(self, raw: bytes, *, ends_line: bool, newline: str = "\n") -> Iterator[Piece]:
        line = self._line
        if line is None:
            found = _STAMP.match(raw[:_LONGEST_STAMP])
            if found is None and raw.startswith(_NOTICES):
                self.notice = raw[:500].decode(errors="replace")
                return
            line = self._begin(raw, found)
            raw = raw[found.end() :] if found else raw
        self._line = None if ends_line else line
        text = line.decode(raw, final=ends_line)
        if ends_line and line.stamped:
            self._remember(line)
        if line.known:
            return
        text = text.translate(_NUL) + (newline if ends_line else "")
        if text:
            gap, self._gap = self._gap, False
            resume = self._resume(line, ended=ends_line)
            yield Piece(line.second, line.stamp, text, len(text.encode()), resume, gap)

    def _begin(self, raw: bytes, found: re.Match[bytes] | None) -> _Line:
        if found is None:  # not a log's line, but somebody's words all the same
            second, stamp = self._window[-1] if self._window else (self._newest, "")
            return _Line(second, stamp, stamped=False)
        stamp = found[0].strip().decode()
        self._verify(stamp)
        line = _Line(self._second(found), stamp)
        if self._skip_lines:
            self._skip_lines -= 1
            line.known = True
        elif self._expected.open_bytes:
            line.skip = self._expected.open_bytes
            self._expected = Resume()
        return line

    def _verify(self, stamp: str) -> None:
        """The first line of a resumed log must be the one that was first the last time."""
        if self._verified:
            return
        self._verified = True
        if stamp != self._expected.stamp:
            self._skip_lines = 0
            self._expected = Resume()
            self._gap = True

    def _second(self, found: re.Match[bytes]) -> int:
        known = self._seconds.get(found[1] + found[2])
        if known is None:
            at = datetime.fromisoformat((found[1] + found[2].replace(b"Z", b"+00:00")).decode())
            known = int(at.timestamp())
            self._seconds = {found[1] + found[2]: known}
        return known

    def _remember(self, line: _Line) -> None:
        """Keeps the stamps of the last two seconds: what a resumed reading will see again."""
        if line.second > self._newest:
            self._newest = line.second
            self._window = deque(each for each in self._window if each[0] >= line.second - 1)
        if line.second >= self._newest - 1:
            self._window.append((line.second, line.stamp))

    def _resume(self, line: _Line, *, ended: bool) -> Resume:
        newest, again = self._newest, self._window
        if not ended and line.second > newest:
            newest = line.second
            again = deque(each for each in again if each[0] >= newest - 1)
        if not again and (ended or not line.stamped):
            return Resume()
        stamp = again[0][1] if again else line.stamp
        return Resume(newest - 1, stamp, len(again), 0 if ended else line.taken)


def _bounded(part: bytes) -> list[bytes]:
    """Cut into pieces of LONG_LINE and a shorter last one."""
    return [part[start : start + LONG_LINE] for start in range(0, len(part) + 1, LONG_LINE)]


class _Line:
    """The line that is being read. `known`: it is stored already; `skip`: that many of its bytes are."""

    def __init__(self, second: int, stamp: str, *, stamped: bool = True) -> None:
        self.second = second
        self.stamp = stamp
        self.stamped = stamped
        self.known = False
        self.skip = 0
        self._read = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def decode(self, raw: bytes, *, final: bool) -> str:
        self._read += len(raw)
        cut = min(self.skip, len(raw))
        self.skip -= cut
        return self._decoder.decode(raw[cut:], final)

    @property
    def taken(self) -> int:
        """Bytes of the line that have become text, without the beginning of a character that is not whole yet."""
        return self._read - len(self._decoder.getstate()[0])
