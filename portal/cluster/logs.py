"""Reading captured container logs. Only rows are read here; `manage.py logs` writes them (see `capture`).

Several pods or containers make one text: each part begins with a line `==> pod/container <==`, as `tail` does it.
`since` counts whole seconds: a reader who was cut off and asks again with the time of the last line gets every line of
that second again, and none is missing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from portal.cluster.capture import pods
from portal.cluster.models import LogChunk, LogInterest, LogStream, MirrorObject
from portal.kernel import clock
from portal.kernel.errors import BadRequest

INTEREST = timedelta(seconds=60)
_REFRESH_BELOW = timedelta(seconds=40)
_ANSWER = 4 * 1024 * 1024
_LEAST_PART = 64 * 1024
_FOLLOW_CHUNKS = 200
_ALL = 1 << 60
_LOOKED_THROUGH = 8  # chunks


@dataclass(frozen=True)
class LogText:
    """Whole lines (the last may be open). `truncated`: something of what was asked for is missing; `gap` says what, in
    the reader's language, empty otherwise. `cursor`: opaque, where `follow_from` goes on."""

    text: str
    truncated: bool = False
    gap: str = ""
    cursor: str = ""


def interest(workload_id: UUID) -> None:
    """Somebody looks: the log reader streams this workload's containers for the next minute."""
    now = clock.now()
    row = LogInterest.objects.filter(workload_id=workload_id)
    if row.filter(until__gt=now + _REFRESH_BELOW).exists() or row.update(until=now + INTEREST):
        return
    try:
        with transaction.atomic():
            LogInterest.objects.create(workload_id=workload_id, until=now + INTEREST)
    except IntegrityError:
        row.update(until=now + INTEREST)


def is_captured(workload_id: UUID, run: int) -> bool:
    """Whether of every container of the run that the mirror knows the log is kept to its end, or a gap says why not."""
    streams = LogStream.objects.filter(workload_id=workload_id, run=run)
    if streams.filter(complete=False).exists():
        return False
    rows = MirrorObject.objects.filter(workload_id=workload_id, kind="Pod", run=run)
    rows = rows.exclude(uid__in=streams.values("pod_uid"))
    return not any(pods.view(row.data, uid=row.uid, workload_id=workload_id, run=run).lives for row in rows)


def last_line(workload_id: UUID, *, run: int, begins: str, before: datetime) -> datetime | None:
    """When a line that begins so was last written before a moment, by any container of the run; None where none is
    kept. To the second; one query, of the newest few chunks."""
    mine = LogChunk.objects.filter(stream__workload_id=workload_id, stream__run=run, stream__created_at__lte=before)
    found = mine.filter(text__contains=begins).order_by("-id").values_list("text", "seconds")[:_LOOKED_THROUGH]
    moments = (datetime.fromtimestamp(at, UTC) for text, seconds in found for at in _seconds_of(text, seconds, begins))
    return max((at for at in moments if at <= before), default=None)


def _seconds_of(text: str, seconds: list[list[int]], begins: str) -> Iterator[int]:
    """The seconds in which a chunk's lines that begin so were written."""
    starts = [offset for _, offset in seconds]
    for line in re.finditer(f"^{re.escape(begins)}", text, re.MULTILINE):
        at = bisect_right(starts, line.start()) - 1
        if at >= 0:
            yield seconds[at][0]


def read(
    workload_id: UUID,
    *,
    run: int,
    container: str = "",
    tail: int | None = 100,
    since: str = "",
    previous: bool = False,
) -> LogText:
    """The last `tail` lines (None: all) of every container of the run, not older than `since` (RFC 3339).

    What is more than an answer may hold is left out from the beginning, which is marked where all was asked for.
    `previous`: of the container's life before its last restart. A run without logs (yet) is an empty text.
    """
    streams = _streams(workload_id, run, container, previous=previous)
    oldest = _second(since)
    cursor = _Cursor()
    parts: list[str] = []
    gaps: list[str] = []
    truncated = False
    for stream in streams:
        part = _tail(stream, tail, oldest, max(_LEAST_PART, _ANSWER // len(streams)))
        cursor.seen[stream.pk.hex] = part.next_seq
        truncated = truncated or part.cut
        gaps += part.gaps
        if part.text or len(streams) == 1:
            parts += [_Mark(_header(stream)), part.text] if len(streams) > 1 else [part.text]
            cursor.at = stream.pk.hex
    return LogText(_joined(parts), truncated or bool(gaps), "\n".join(gaps), cursor.packed())


def follow_from(workload_id: UUID, *, run: int, container: str = "", cursor: str = "") -> LogText:
    """What came after `cursor`, in the order of its arrival; containers that began since are included."""
    streams = {stream.pk: stream for stream in _streams(workload_id, run, container, previous=False)}
    at = _Cursor.unpacked(cursor)
    new = _new_chunks(streams, at)
    several = len(streams) > 1
    texts: list[str] = []
    gaps: list[str] = []
    for chunk in new:
        stream = streams[chunk.stream_id]
        if several and at.at != stream.pk.hex:
            texts.append(_Mark(_header(stream)))
        at.at = stream.pk.hex
        missed = chunk.seq > at.seen.get(stream.pk.hex, chunk.seq)
        if missed or chunk.gap:
            gaps.append(gettext("a part of this log is missing here"))
            texts.append(_marker(gaps[-1]))
        texts.append(chunk.text)
        at.seen[stream.pk.hex] = chunk.seq + 1
    return LogText(_joined(texts), bool(gaps), "\n".join(gaps), at.packed())


@dataclass
class _Cursor:
    """Per stream the number of the chunk to read next, and the stream whose part is open in the text."""

    seen: dict[str, int] = field(default_factory=dict)
    at: str = ""

    def packed(self) -> str:
        return ",".join(f"{key}:{seq}" for key, seq in sorted(self.seen.items())) + f";{self.at}"

    @classmethod
    def unpacked(cls, text: str) -> _Cursor:
        seen, _, at = text.partition(";")
        pairs = (each.partition(":") for each in seen.split(",") if each)
        return cls({key: int(seq) for key, _, seq in pairs}, at)


@dataclass
class _Part:
    text: str
    next_seq: int
    cut: bool
    gaps: list[str]


def _streams(workload_id: UUID, run: int, container: str, *, previous: bool) -> list[LogStream]:
    """The newest life of every container (or the one before it), oldest pod first."""
    rows = LogStream.objects.filter(workload_id=workload_id, run=run)
    if container:
        rows = rows.filter(container=container)
    lives: dict[tuple[str, str], list[LogStream]] = {}
    for row in rows.order_by("created_at", "pod", "container", "restart"):
        lives.setdefault((row.pod_uid, row.container), []).append(row)
    if previous:
        return [found[-2] for found in lives.values() if len(found) > 1]
    return [found[-1] for found in lives.values()]


def _tail(stream: LogStream, asked: int | None, oldest: int | None, budget: int) -> _Part:
    """The end of one stream, read backwards chunk by chunk until it is enough."""
    lines = _ALL if asked is None else asked
    texts: list[str] = []
    gaps: list[str] = []
    count = size = 0
    next_seq, enough, open_line = stream.next_seq, lines <= 0, False
    for chunk in LogChunk.objects.filter(stream=stream, seq__lt=next_seq).order_by("-seq").iterator(chunk_size=8):
        if enough:
            break
        text, reached = _from_second(chunk, oldest)
        if chunk.gap:
            gaps.append(gettext("a part of this log is missing here"))
            text = _marker(gaps[-1])
        open_line = open_line or (not texts and bool(text) and not text.endswith("\n"))
        texts.append(text)
        count, size = count + text.count("\n"), size + len(text)
        enough = reached or size > budget or count + open_line > lines
    else:
        if stream.dropped_bytes and not enough:
            gaps.append(gettext("%(size)s earlier bytes are no longer kept") % {"size": stream.dropped_bytes})
            texts.append(_marker(gaps[-1]))
            lines += 1
    if stream.gap:
        gaps.insert(0, _reason(stream.gap))
        texts.insert(0, _marker(gaps[0]))
        lines += 1
    whole = _joined(reversed(texts))
    kept = _last_lines(whole, max(lines, 0))
    cut = size > budget and len(kept) == len(whole)
    if cut and asked is None:
        gaps.append(gettext("earlier lines are left out here"))
        kept = _marker(gaps[-1]) + kept
    return _Part(kept, next_seq, cut, list(reversed(gaps)))


def _from_second(chunk: LogChunk, oldest: int | None) -> tuple[str, bool]:
    """The part of a chunk that is not older, and whether what lies before it is."""
    if oldest is None or not chunk.seconds or chunk.seconds[0][0] >= oldest:
        return chunk.text, False
    for second, offset in chunk.seconds:
        if second >= oldest:
            return chunk.text[offset:], True
    return "", True


def _last_lines(text: str, count: int) -> str:
    """The last `count` lines; a line without its end counts."""
    end = len(text) - 1 if text.endswith("\n") else len(text)
    for _ in range(count):
        end = text.rfind("\n", 0, end)
        if end < 0:
            return text
    return text[end + 1 :] if count else ""


def _new_chunks(streams: Mapping[UUID, LogStream], at: _Cursor) -> list[LogChunk]:
    behind = [each.pk for each in streams.values() if each.next_seq > at.seen.get(each.pk.hex, 1)]
    if not behind:
        return []
    least = min(at.seen.get(key.hex, 1) for key in behind)
    rows = LogChunk.objects.filter(stream__in=behind, seq__gte=least).order_by("pk").iterator(chunk_size=50)
    found: list[LogChunk] = []
    for chunk in rows:
        if chunk.seq >= at.seen.get(chunk.stream_id.hex, 1):
            found.append(chunk)
        if len(found) == _FOLLOW_CHUNKS:
            break
    return found


def _reason(gap: str) -> str:
    code, _, words = gap.partition(":")
    if code == "vanished":
        return gettext("the pod was gone before the rest of its log could be read")
    if code == "evicted":
        return gettext("the pod was evicted: %(words)s") % {"words": words}
    return gettext("the rest of this log could not be read: %(words)s") % {"words": words}


def _header(stream: LogStream) -> str:
    return f"==> {stream.pod}/{stream.container} <==\n"


class _Mark(str):
    """A line of ours between the container's."""

    __slots__ = ()


def _marker(words: str) -> _Mark:
    return _Mark(f"[{words}]\n")


def _joined(parts: Iterable[str]) -> str:
    """Parts one after the other; a line of ours never continues somebody's open line."""
    text: list[str] = []
    for part in parts:
        if isinstance(part, _Mark) and text and text[-1] and not text[-1].endswith("\n"):
            text.append("\n")
        text.append(part)
    return "".join(text)


def _second(since: str) -> int | None:
    if not since:
        return None
    try:
        at = datetime.fromisoformat(since)
    except ValueError as error:
        raise BadRequest(gettext("since is not a time like 2026-12-01T09:00:00Z")) from error
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
