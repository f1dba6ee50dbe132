"""A watcher in a test: streams in threads, as in the process; what they say is written by the test's own thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from portal.cluster.kube import Connection, KubeGateway, Timeouts
from portal.cluster.mirror import Mirror
from portal.cluster.models import Cluster
from portal.cluster.streams import Item, KindStream, Term, collect
from portal.cluster.watch import write_items
from portal.kernel import clock

QUICK = Timeouts(connect=2, answer=3, watch_silence=1.0, log_silence=1.0)


@dataclass
class Watching:
    mirror: Mirror
    term: Term
    items: list[Item] = field(default_factory=list)

    def until(self, met: Callable[[], object], *, seconds: float = 15.0) -> None:
        """Writes what comes until the condition holds."""
        deadline = clock.monotonic() + seconds
        while not met():
            assert clock.monotonic() < deadline, "the mirror did not get there in time"
            new = collect(self.term, idle=0.1)
            self.items += new
            write_items(self.mirror, new)

    def heard(self, kind: type[Item]) -> list[Item]:
        return [item for item in self.items if isinstance(item, kind)]


@contextmanager
def watching(on: Cluster, address: str, *kinds: str) -> Iterator[Watching]:
    """Streams of these kinds, from where the mirror's rows say."""
    gateway = KubeGateway(Connection(address), manager="turno-turno", timeouts=QUICK)
    term = Term()
    mirror = Mirror(on, lambda: None)
    threads = [
        KindStream(term, gateway, kind, instance=on.instance, resume_from=mirror.resume_from(kind)) for kind in kinds
    ]
    for thread in threads:
        thread.start()
    try:
        yield Watching(mirror, term)
    finally:
        term.over.set()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
