"""Rows of captured logs: one stream per container life, chunks of whole lines, the newest 2 MiB."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from portal.cluster.capture.lines import WINDOW, Piece, Resume
from portal.cluster.capture.pods import Key, Life
from portal.cluster.models import Cluster, LogChunk, LogInterest, LogStream
from portal.kernel import clock
from portal.kernel.transaction import transaction

KEPT = timedelta(days=30)
_CHUNK = 64 * 1024
_BATCH = 100


@dataclass
class Stream:
    """One row, as the writer holds it. `chunks`: (number, size) of what is kept, oldest first."""

    pk: UUID
    resume: Resume
    next_seq: int
    size: int
    dropped: int
    chunks: deque[tuple[int, int]] = field(default_factory=deque)


class LogStore:
    """The rows of one cluster's logs, as one leading reader writes them."""

    def __init__(self, cluster: Cluster, fence: Callable[[], None]) -> None:
        self.cluster = cluster
        self._fence = fence

    def complete_keys(self, pod_uids: Iterable[str]) -> set[Key]:
        """Which lives of these pods need no more reading."""
        rows = LogStream.objects.filter(pod_uid__in=list(pod_uids), complete=True)
        return set(rows.values_list("pod_uid", "container", "restart"))

    def begin(self, lives: Sequence[Life]) -> None:
        """A row for every life that has begun, so that one that vanishes unread is known to be missing."""
        now = clock.now()
        rows = [
            LogStream(
                cluster=self.cluster,
                workload_id=life.workload_id,
                run=life.run,
                namespace=life.namespace,
                pod=life.pod,
                pod_uid=life.pod_uid,
                container=life.container,
                restart=life.restart,
                created_at=now,
            )
            for life in lives
        ]
        if rows:
            with transaction():
                self._fence()
                LogStream.objects.bulk_create(rows, ignore_conflicts=True)

    def open(self, key: Key) -> Stream:
        """The writer's view of a row that `begin` made."""
        uid, container, restart = key
        row = LogStream.objects.get(pod_uid=uid, container=container, restart=restart)
        resume = Resume(row.resume_second, row.resume_stamp, row.resume_lines, row.resume_bytes)
        chunks = LogChunk.objects.filter(stream=row).order_by("seq").values_list("seq", "size")
        return Stream(row.pk, resume, row.next_seq, row.size, row.dropped_bytes, deque(chunks))

    def write(self, news: Sequence[tuple[Stream, Sequence[Piece], int]]) -> None:
        """Appends pieces to streams in one transaction; with each, the bytes that were dropped before them."""
        with transaction():
            self._fence()
            chunks: list[LogChunk] = []
            for stream, pieces, dropped in news:
                stream.dropped += dropped
                for chunk in _chunks(stream, pieces):
                    chunks.append(chunk)
                    stream.chunks.append((chunk.seq, chunk.size))
                    stream.size += chunk.size
                if pieces:
                    stream.resume = pieces[-1].resume
            LogChunk.objects.bulk_create(chunks)
            for stream, _, _ in news:
                self._roll(stream)
                self._save(stream)

    def complete(self, pk: UUID, gap: str = "") -> None:
        """Nothing more will come; `gap` says why something is missing."""
        with transaction():
            self._fence()
            row = LogStream.objects.filter(pk=pk)
            row.update(complete=True, gap=gap[:200], ended_at=clock.now())

    def vanished(self, present: set[str], reading: set[Key]) -> list[tuple[UUID, Key]]:
        """Lives whose pods are gone and that nobody reads any more, though they are not complete."""
        rows = LogStream.objects.filter(cluster=self.cluster, complete=False)
        return [
            (pk, (uid, container, restart))
            for pk, uid, container, restart in rows.values_list("pk", "pod_uid", "container", "restart")
            if uid not in present and (uid, container, restart) not in reading
        ]

    def clean(self) -> None:
        """Removes, in bounded batches, what is older than thirty days, and interests that are over."""
        now = clock.now()
        LogInterest.objects.filter(until__lt=now - timedelta(hours=1)).delete()
        old = LogStream.objects.filter(cluster=self.cluster, created_at__lt=now - KEPT, complete=True)
        LogStream.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:_BATCH])).delete()

    def _roll(self, stream: Stream) -> None:
        """Drops the oldest chunks until the window holds the rest."""
        last = 0
        while stream.size > WINDOW and len(stream.chunks) > 1:
            last, size = stream.chunks.popleft()
            stream.size -= size
            stream.dropped += size
        if last:
            LogChunk.objects.filter(stream=stream.pk, seq__lte=last).delete()

    def _save(self, stream: Stream) -> None:
        LogStream.objects.filter(pk=stream.pk).update(
            next_seq=stream.next_seq,
            size=stream.size,
            dropped_bytes=stream.dropped,
            resume_second=stream.resume.second,
            resume_stamp=stream.resume.stamp,
            resume_lines=stream.resume.lines,
            resume_bytes=stream.resume.open_bytes,
        )


def _chunks(stream: Stream, pieces: Sequence[Piece]) -> Iterable[LogChunk]:
    texts: list[str] = []
    seconds: list[list[int]] = []
    size = length = 0
    first = ""
    for piece in pieces:
        if piece.gap:
            yield from _chunk(stream, texts, size, seconds, first)
            texts, seconds, size, length = [], [], 0, 0
            yield LogChunk(stream_id=stream.pk, seq=_number(stream), text="", size=0, gap=True)
        first = first if texts else piece.stamp
        if not seconds or seconds[-1][0] < piece.second:
            seconds.append([piece.second, length])
        texts.append(piece.text)
        size, length = size + piece.size, length + len(piece.text)
        if size >= _CHUNK:
            yield from _chunk(stream, texts, size, seconds, first)
            texts, seconds, size, length = [], [], 0, 0
    yield from _chunk(stream, texts, size, seconds, first)


def _chunk(stream: Stream, texts: list[str], size: int, seconds: list[list[int]], first: str) -> Iterable[LogChunk]:
    if texts:
        yield LogChunk(
            stream_id=stream.pk,
            seq=_number(stream),
            first_stamp=first,
            text="".join(texts),
            size=size,
            seconds=seconds,
        )


def _number(stream: Stream) -> int:
    stream.next_seq += 1
    return stream.next_seq - 1
