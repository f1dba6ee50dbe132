"""The work table: wake, lease, fence, sweep. It drives every reconciler (design: life of a workload, step 2).

A lease is a token in the row. `Lease.fence()` is the first statement of the transaction that records an outcome: it
requires the token and an unexpired lease by the database's clock, or raises `LeaseLost` and the transaction rolls back.
`Lease.require()` is asked before every cluster write and judges by the monotonic clock.
"""

from __future__ import annotations

import logging
import random
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from uuid import UUID

import structlog
from django.db import IntegrityError, connection
from django.db import transaction as django_transaction
from django.db.models import Case, Count, DateTimeField, F, Q, QuerySet, Value, When
from django.db.models.functions import Now

from portal.kernel import broker, clock
from portal.kernel.models import OPEN_WORK, Work
from portal.kernel.transaction import current, transaction

LEASE = timedelta(seconds=5)
RESEND_AFTER = timedelta(seconds=5)
PARK_AFTER = 8
LONGEST_BACKOFF = 30.0
ENOUGH_WAITING = 100
MOST_SENT = 500

log = logging.getLogger(__name__)


class LeaseLost(Exception):
    """Another pass holds this work now; nothing may be written any more."""


class Retry(Exception):
    """The pass could not finish for a passing cause: look again after `after` seconds (None: back off). Never parks."""

    def __init__(self, reason: str, *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass
class Lease:
    """The right to work on one object until it expires."""

    row_id: UUID
    kind: str
    object_id: UUID
    token: UUID
    seq: int
    expires: float

    def fence(self) -> None:
        """First statement of a recording transaction; also renews. Raises LeaseLost."""
        self._extend()

    def renew(self) -> None:
        """For longer passes, outside of a transaction. Raises LeaseLost."""
        self._extend()

    def require(self, seconds: float = 1.0) -> None:
        """Before a cluster write: at least `seconds` must be left. Renews when short; raises LeaseLost."""
        if self.expires - clock.monotonic() < seconds:
            self._extend()

    def _extend(self) -> None:
        started = clock.monotonic()
        if started >= self.expires:
            raise LeaseLost(self.kind)
        held = Work.objects.filter(pk=self.row_id, lease_token=self.token, lease_until__gt=Now())
        if not held.update(lease_until=Now() + LEASE):
            raise LeaseLost(self.kind)
        self.expires = started + LEASE.total_seconds()


def wake(kind: str, object_id: UUID, *, in_seconds: float = 0.0) -> None:
    """Says that the object must be looked at (again). Inside the caller's transaction; the message leaves after commit.

    A later `in_seconds` never postpones an earlier due time. Waking un-parks.
    """
    unit = current()
    due = clock.now() + timedelta(seconds=in_seconds)
    row = Work.objects.filter(kind=kind, object_id=object_id)
    if not row.update(wanted_seq=F("wanted_seq") + 1, parked_reason="", attempts=0):
        try:
            with django_transaction.atomic():
                Work.objects.create(kind=kind, object_id=object_id, wanted_seq=1, due_at=due)
        except IntegrityError:
            row.update(wanted_seq=F("wanted_seq") + 1, parked_reason="", attempts=0)
    row.filter(Q(due_at=None) | Q(due_at__gt=due)).update(due_at=due)
    if in_seconds > 0:
        return
    stale = Q(queued_at=None) | Q(queued_at__lt=clock.now() - RESEND_AFTER)
    if row.filter(stale).update(queued_at=clock.now()):
        unit.callbacks.append(partial(broker.send, kind, str(object_id)))


def begin(kind: str, object_id: UUID) -> None:
    """`wake` for an object that this very transaction makes: nobody else can know of it yet, so one statement does."""
    now = clock.now()
    Work.objects.create(kind=kind, object_id=object_id, wanted_seq=1, due_at=now, queued_at=now)
    current().callbacks.append(partial(broker.send, kind, str(object_id)))


def wake_many(kind: str, object_ids: Collection[UUID]) -> None:
    """`wake` for many objects of one kind at once, in a fixed number of statements.

    One that waits for a worker already is not told of again, however long it waits: were its message lost, the sweep
    would find it.
    """
    unit = current()
    now = clock.now()
    rows = Work.objects.filter(kind=kind, object_id__in=object_ids)
    new = set(object_ids).difference(rows.values_list("object_id", flat=True))
    Work.objects.bulk_create([Work(kind=kind, object_id=each) for each in sorted(new)], ignore_conflicts=True)
    rows.update(wanted_seq=F("wanted_seq") + 1, parked_reason="", attempts=0)
    rows.filter(Q(due_at=None) | Q(due_at__gt=now)).update(due_at=now)
    unsent = list(rows.filter(queued_at=None).values_list("object_id", flat=True))
    rows.filter(object_id__in=unsent).update(queued_at=now)
    unit.callbacks += [partial(broker.send, kind, str(object_id)) for object_id in unsent]


def is_known(kind: str, object_id: UUID) -> bool:
    """Whether the object was ever woken."""
    return Work.objects.filter(kind=kind, object_id=object_id).exists()


def parked_reason(kind: str, object_id: UUID) -> str:
    """The last error of an object whose passes were given up; "" while they go on."""
    return Work.objects.filter(kind=kind, object_id=object_id).values_list("parked_reason", flat=True).first() or ""


def hold(kind: str, object_id: UUID) -> None:
    """First statement of a command that changes the object itself: no pass records until the transaction ends.

    A pass begins with this row too (`Lease.fence`), so that the two never wait for each other.
    """
    if connection.features.has_select_for_update:
        list(Work.objects.select_for_update().filter(kind=kind, object_id=object_id).values_list("pk"))


def acquire(kind: str, object_id: UUID) -> Lease | None:
    """Takes the lease, or None when it is held, parked, nothing of the kind is known, or nothing is to be done.

    A message may come twice, or late: what another pass has done by then, or what backs off, is not done again.
    """
    token = uuid.uuid4()
    started = clock.monotonic()
    free = Q(lease_token=None) | Q(lease_until__lte=Now())
    wanted = Q(wanted_seq__gt=F("done_seq"), attempts=0) | Q(due_at__lte=clock.now()) | ~Q(lease_token=None)
    row = Work.objects.filter(free, wanted, kind=kind, object_id=object_id, parked_reason="")
    if not row.update(lease_token=token, lease_until=Now() + LEASE, queued_at=None):
        return None
    taken = Work.objects.filter(kind=kind, object_id=object_id, lease_token=token).first()
    if taken is None:
        return None
    return Lease(taken.pk, kind, object_id, token, taken.wanted_seq, started + LEASE.total_seconds())


def run(kind: str, object_id: UUID, one_pass: Callable[[Lease], float | None]) -> bool:
    """Runs passes over one object until nothing newer is wanted. `one_pass` returns seconds until it must look again.

    True when at least one pass ran. A `Retry` backs off for ever; any other error backs off and is parked with its
    reason after `PARK_AFTER` attempts.
    """
    ran = False
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(work_kind=kind, object_id=str(object_id))
    while (lease := acquire(kind, object_id)) is not None:
        ran = True
        try:
            again = one_pass(lease)
        except LeaseLost:
            log.info("lease lost")
            return True
        except Retry as retry:
            _release(lease, again=retry.after, failed=str(retry), parkable=False)
            return True
        except Exception as error:
            log.exception("pass failed")
            _release(lease, again=None, failed=f"{type(error).__name__}: {error}"[:500], parkable=True)
            return True
        if not _release(lease, again=again, failed="", parkable=False):
            break
    return ran


def _release(lease: Lease, *, again: float | None, failed: str, parkable: bool) -> bool:
    """Gives the lease back; True when something newer is already wanted."""
    held = Work.objects.filter(pk=lease.row_id, lease_token=lease.token)
    if failed:
        _back_off(held, again=again, failed=failed, parkable=parkable)
        return False
    now = clock.now()
    due = None if again is None else now + timedelta(seconds=again)
    newer = Work.objects.filter(pk=lease.row_id, wanted_seq__gt=lease.seq)
    with transaction():
        # One statement decides: a wake that comes between reading and writing would be postponed with the rest.
        at_once = Case(
            When(wanted_seq__gt=lease.seq, then=Value(now)), default=Value(due), output_field=DateTimeField()
        )
        given = held.update(lease_token=None, lease_until=None, attempts=0, done_seq=lease.seq, due_at=at_once)
        return bool(given) and newer.exists()


def _back_off(held: QuerySet[Work], *, again: float | None, failed: str, parkable: bool) -> None:
    with transaction():
        row = held.first()
        if row is None:
            return
        parked = parkable and row.attempts + 1 >= PARK_AFTER
        wait = again if again is not None else _backoff(row.attempts)
        held.update(
            lease_token=None,
            lease_until=None,
            attempts=row.attempts + 1,
            due_at=None if parked else clock.now() + timedelta(seconds=wait),
            parked_reason=failed if parked else "",
        )


def _backoff(attempts: int) -> float:
    return min(LONGEST_BACKOFF, 0.5 * 2.0 ** min(attempts, 10)) * random.uniform(0.75, 1.25)  # noqa: S311 jitter only


def _open() -> QuerySet[Work]:
    """What is at rest is not even looked at: the condition is the index's own."""
    return Work.objects.filter(OPEN_WORK)


def due(limit: int = MOST_SENT) -> QuerySet[Work]:
    """Rows that somebody should look at now: nobody holds them, nobody was told in the last five seconds.

    A pass that was begun and never ended (its lease ran out) is one that is missing, whatever the row says besides.
    """
    now = clock.now()
    wanted = Q(wanted_seq__gt=F("done_seq"), attempts=0) & ~Q(due_at__gt=now)
    abandoned = Q(lease_token__isnull=False)
    free = Q(lease_token=None) | Q(lease_until__lte=Now())
    unsent = Q(queued_at=None) | Q(queued_at__lt=now - RESEND_AFTER)
    rows = Work.objects.filter(OPEN_WORK).filter(
        wanted | Q(due_at__lte=now) | abandoned, free, unsent, parked_reason=""
    )
    return rows.order_by("due_at")[:limit]


def sweep(send: Callable[[str, str], bool] = broker.send, waiting: Callable[[], int] = broker.waiting) -> int:
    """Tells a worker about everything that is due; the number of messages sent. Every 2 s, from beat.

    While workers have enough to do, telling them again would only make them slower.
    """
    sent = 0
    if waiting() >= ENOUGH_WAITING:
        return sent
    for row in list(due()):
        Work.objects.filter(pk=row.pk).update(queued_at=clock.now())
        if not send(row.kind, str(row.object_id)):
            Work.objects.filter(pk=row.pk).update(queued_at=None)
            break
        sent += 1
    return sent


def hurry() -> int:
    """What everybody waited for is back: whatever backs off is looked at in the next sweep. Returns how many rows."""
    patient = Work.objects.filter(OPEN_WORK).filter(
        attempts__gt=0, parked_reason="", lease_token=None, due_at__gt=clock.now()
    )
    return patient.update(due_at=clock.now(), queued_at=None)


def backlog() -> list[tuple[str, int, int]]:
    """Per kind: how many are due now, how many are parked. For metrics."""
    now = clock.now()
    behind = Q(wanted_seq__gt=F("done_seq")) | Q(due_at__lte=now)
    rows = Work.objects.values("kind").annotate(
        due=Count("pk", filter=behind & Q(parked_reason="")), parked=Count("pk", filter=~Q(parked_reason=""))
    )
    return [(row["kind"], row["due"], row["parked"]) for row in rows.order_by("kind")]


def forget(kind: str, object_id: UUID) -> None:
    """Nothing remains to be kept true: removes the row (inside the caller's transaction)."""
    Work.objects.filter(kind=kind, object_id=object_id).delete()
