"""Reading one life of one container, in a thread of its own, into a buffer that the writer empties. No database."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from portal.cluster.capture.lines import WINDOW, LineReader, Piece
from portal.cluster.capture.pods import Life
from portal.cluster.capture.store import Stream
from portal.cluster.port import ClusterError, ClusterGateway, Missing

_FULL = 1024 * 1024


class Outcome(StrEnum):
    """How the reading came to its end: the log's own end, our will, a refusal with words, or a broken connection."""

    ENDED = "ended"
    STOPPED = "stopped"
    REFUSED = "refused"
    BROKEN = "broken"


@dataclass
class Taken:
    """What the writer took: pieces, the bytes dropped before them, and whether nothing more will come."""

    pieces: list[Piece]
    dropped: int
    over: bool


class Tail(threading.Thread):
    """Follows a living container until it ends; reads an ended one to its end, keeping the window's worth of it."""

    def __init__(self, gateway: ClusterGateway, life: Life, stream: Stream, *, follow: bool) -> None:
        super().__init__(name=f"log-{life.pod}-{life.container}", daemon=True)
        self.life = life
        self.stream = stream
        self.follow = follow
        self.outcome = Outcome.STOPPED
        self.words = ""
        self._gateway = gateway
        self._changed = threading.Condition()
        self._pieces: deque[Piece] = deque()
        self._size = 0
        self._dropped = 0
        self._stopped = False
        self._over = False

    def run(self) -> None:
        try:
            self._read()
        except ClusterError as error:
            passing = error.retryable or isinstance(error, Missing)  # a pod that is gone leaves the mirror soon
            self.outcome = Outcome.BROKEN if passing else Outcome.REFUSED
            self.words = error.message
        finally:
            with self._changed:
                self._over = True

    def stop(self) -> None:
        """Nobody looks any more: ends with the next sign of life, or the next silence."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def take(self) -> Taken:
        """Empties the buffer. An ended log is given only whole, so that it costs one window of rows and not ten."""
        with self._changed:
            if not self.follow and not self._over:
                return Taken([], 0, over=False)
            taken = Taken(list(self._pieces), self._dropped, self._over)
            self._pieces.clear()
            self._size = self._dropped = 0
            self._changed.notify_all()
            return taken

    def _read(self) -> None:
        life = self.life
        reader = LineReader(self.stream.resume)
        data = self._gateway.logs(
            life.namespace,
            life.pod,
            container=life.container,
            follow=self.follow,
            previous=life.previous,
            since=self.stream.resume.since,
        )
        try:
            for each in data:
                for piece in reader.feed(each):
                    self._put(piece)
                if self._stopped:
                    return
            for piece in reader.finish():
                self._put(piece)
        finally:
            data.close()
        self.words = reader.notice
        self.outcome = Outcome.REFUSED if reader.notice else Outcome.ENDED

    def _put(self, piece: Piece) -> None:
        with self._changed:
            while self.follow and self._size > _FULL and not self._stopped:
                self._changed.wait(1.0)
            self._pieces.append(piece)
            self._size += piece.size
            while not self.follow and self._size > WINDOW and len(self._pieces) > 1:
                oldest = self._pieces.popleft()
                self._size -= oldest.size
                self._dropped += oldest.size
