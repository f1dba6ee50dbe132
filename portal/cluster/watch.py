"""`manage.py watch`: keeps the mirror of every cluster. One leader per cluster; the others stand by.

A thread per kind reads (`streams`), one thread per cluster writes in batches (`mirror`), a third asks from time to time
whether the server is there at all. A database that is away is waited for; events wait with it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import QuerySet

from portal.cluster import content, factory
from portal.cluster.mirror import Mirror
from portal.cluster.models import Cluster
from portal.cluster.pending import PendingWatch
from portal.cluster.port import (
    ClusterError,
    ClusterGateway,
    Discovery,
    JsonObject,
    ServerTrouble,
    Unauthorized,
    Unreachable,
)
from portal.cluster.streams import Heard, Item, KindStream, Listed, Ordered, Restarted, Seen, Term, Trouble, collect
from portal.kernel import clock, work
from portal.kernel.leader import Leadership

log = logging.getLogger(__name__)

HOLD_EVERY = 3.0
STAND_BY = 1.0
_PROBE_EVERY = 1.0
_QUIET = 10.0
_DISCOVER_EVERY = 300.0
_AWAY = (Unreachable, ServerTrouble, Unauthorized)
_FAILURES_UNTIL_AWAY = 2
_REASON = 300

Gateways = Callable[[Cluster], ClusterGateway]


class NotLeading(Exception):
    """Somebody else leads now; whatever was being written is rolled back."""


class Probe(threading.Thread):
    """Asks the server for a sign of life while the streams are quiet or in trouble, and now and then what it serves."""

    def __init__(self, term: Term, gateway: ClusterGateway) -> None:
        super().__init__(name="watch-probe", daemon=True)
        self._term = term
        self._gateway = gateway
        self._discover_at = 0.0
        self.heard_at = clock.monotonic()
        self.in_trouble = False
        self.failures = 0
        self.error = ""
        self.discovery: Discovery | None = None

    def run(self) -> None:
        while not self._term.over.wait(_PROBE_EVERY if self.discovery or self.failures else 0.01):
            self.look()

    def look(self) -> None:
        """One round."""
        now = clock.monotonic()
        due = now >= self._discover_at
        if not due and not self.in_trouble and not self.failures and now - self.heard_at < _QUIET:
            return
        try:
            if due:
                self.discovery = self._gateway.discover()
                self._discover_at = now + _DISCOVER_EVERY
            else:
                self._gateway.list("Namespace", limit=1)
        except _AWAY as error:
            self.failures += 1
            self.error = f"{type(error).__name__}: {error.message}"[:_REASON]
            return
        except ClusterError as error:
            log.info("the probe was refused, so the server is there: %s", error.message)
        if self.failures:
            self._term.nudge()
        self.failures = 0
        self.heard_at = clock.monotonic()

    @property
    def away(self) -> bool:
        return self.failures >= _FAILURES_UNTIL_AWAY


class ClusterWatch(threading.Thread):
    """One cluster: stands by until it leads, then watches until it no longer does or `stop` is set."""

    def __init__(self, cluster: Cluster, stop: threading.Event, gateways: Gateways = factory.gateway) -> None:
        super().__init__(name=f"watch-{cluster.name}", daemon=True)
        self.cluster = cluster
        self.ended = threading.Event()
        self._stop_all = stop
        self._gateways = gateways
        self._leadership = Leadership(f"watch:{cluster.pk}")
        self._problems: dict[str, str] = {}
        self._away: set[str] = set()

    def run(self) -> None:
        try:
            while not self._stopping():
                if self._leads():
                    self._lead()
                else:
                    self._stop_all.wait(STAND_BY)
            self._with_database(self._leadership.resign)
        finally:
            connection.close()

    def end(self) -> None:
        """Stops this cluster's watch alone."""
        self.ended.set()

    def _stopping(self) -> bool:
        return self._stop_all.is_set() or self.ended.is_set()

    def _leads(self) -> bool:
        try:
            return self._leadership.hold()
        except (DatabaseError, InterfaceError) as error:
            self._database_away(error)
            return False

    def _lead(self) -> None:
        log.info("watching cluster %s", self.cluster.name)
        term = Term()
        self._problems.clear()
        self._away.clear()
        try:
            gateway = self._gateways(self.cluster)
            mirror = Mirror(self.cluster, self._fence)
            probe = Probe(term, gateway)
            probe.start()
            pending = PendingWatch(term, gateway)
            pending.start()
            for kind in sorted(content.MIRRORED):
                resume_from = mirror.resume_from(kind)
                KindStream(
                    term,
                    gateway,
                    kind,
                    instance=self.cluster.instance,
                    resume_from=resume_from,
                    wanted=self._of_tenants if kind == "Event" else lambda _: True,
                ).start()
            self._write_until_over(term, mirror, probe, pending)
        except NotLeading:
            log.warning("another watcher leads cluster %s now", self.cluster.name)
        except (DatabaseError, InterfaceError) as error:
            self._database_away(error)
        finally:
            term.over.set()

    def _of_tenants(self, event: JsonObject) -> bool:
        """Events of tenants' namespaces only: other people's are many, and nobody here asks for them."""
        return str((event.get("metadata") or {}).get("namespace") or "").startswith(self.cluster.prefix)

    def _write_until_over(self, term: Term, mirror: Mirror, probe: Probe, pending: PendingWatch) -> None:
        hold_at = 0.0
        while not self._stopping():
            items = collect(term)
            if clock.monotonic() >= hold_at:
                self._fence()
                hold_at = clock.monotonic() + HOLD_EVERY
            if items:
                self._persist(mirror, items)
                pending.changed(mirror.queues_of(item.entry for item in items if isinstance(item, Seen)))
                self._note_trouble(items, probe)
            self._tell_health(probe)

    def _persist(self, mirror: Mirror, items: list[Item]) -> None:
        """Writes a batch, in order; waits for a database that is away."""
        while not self._stopping():
            try:
                write_items(mirror, items)
            except (DatabaseError, InterfaceError) as error:
                self._database_away(error)
            else:
                return

    def _note_trouble(self, items: list[Item], probe: Probe) -> None:
        for item in items:
            if not isinstance(item, Trouble):
                probe.heard_at = clock.monotonic()
                continue
            before = self._problems.pop(item.kind, "")
            self._away.discard(item.kind)
            if isinstance(item.error, _AWAY):
                self._away.add(item.kind)  # the whole server's trouble, told once by the probe
            elif item.error is not None:
                self._problems[item.kind] = words = f"{type(item.error).__name__}: {item.error.message}"[:_REASON]
                if words != before:
                    log.warning("stream of %s: %s", item.kind, words)
        probe.in_trouble = bool(self._away)

    def _tell_health(self, probe: Probe) -> None:
        """Reachability and capabilities onto the cluster's row, when they change."""
        row = Cluster.objects.filter(pk=self.cluster.pk)
        if probe.away and self.cluster.unreachable_since is None:
            self.cluster.unreachable_since = clock.now()
            row.update(unreachable_since=self.cluster.unreachable_since, unreachable_reason=probe.error)
            log.warning("cluster %s is unreachable: %s", self.cluster.name, probe.error)
        elif self.cluster.unreachable_since is not None and not probe.failures and probe.discovery is not None:
            self.cluster.unreachable_since = None
            row.update(unreachable_since=None, unreachable_reason="")
            work.hurry()
            log.info("cluster %s answers again", self.cluster.name)
        if probe.discovery is not None and not probe.away:
            self._tell_capabilities(row, probe.discovery)

    def _tell_capabilities(self, row: QuerySet[Cluster], found: Discovery) -> None:
        capabilities = {
            "version": found.version,
            "kinds": {group: sorted(kinds) for group, kinds in found.kinds.items()},
            "problems": dict(sorted(self._problems.items())),
        }
        if capabilities != self.cluster.capabilities:
            self.cluster.capabilities = capabilities
            row.update(capabilities=capabilities)

    def _fence(self) -> None:
        if not self._leadership.hold():
            raise NotLeading

    def _database_away(self, error: Exception) -> None:
        log.warning("the database does not answer: %s", type(error).__name__)
        connection.close()
        self._stop_all.wait(STAND_BY)

    def _with_database(self, action: Callable[[], None]) -> None:
        try:
            action()
        except (DatabaseError, InterfaceError) as error:
            log.warning("the database does not answer: %s", type(error).__name__)


def write_items(mirror: Mirror, items: list[Item]) -> None:
    """A batch of what the streams said, in order. Doing it twice does nothing more."""
    entries: list[Seen] = []
    heard: dict[str, str] = {}

    def flush() -> None:
        if entries or heard:
            mirror.write([seen.entry for seen in entries], heard)
            entries.clear()
            heard.clear()

    for item in items:
        match item:
            case Seen(entry, version):
                entries.append(item)
                if version:
                    heard[entry.kind] = version
            case Heard(kind, version):
                heard[kind] = version
            case Restarted(kind):
                flush()
                mirror.distrust(kind)
            case Listed(kind, keys, version):
                flush()
                mirror.listed(kind, keys, version)
            case Ordered(queue, keys):
                mirror.ordered(queue, keys)
    flush()
