"""One unit of work: Django's `atomic`, plus what must happen at its very end.

Feed entries collected inside get their sequence numbers by the last statements of the outermost transaction, so commit
order is sequence order; wake messages leave only after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial

from django.db import connection
from django.db import transaction as django_transaction

from portal.kernel.models import FeedEntry, FeedScope


@dataclass
class Unit:
    """What one open transaction has collected: feed entries, and callbacks for after the commit."""

    entries: list[FeedEntry] = field(default_factory=list)
    callbacks: list[Callable[[], object]] = field(default_factory=list)


_current: ContextVar[Unit | None] = ContextVar("turno_unit", default=None)


def current() -> Unit:
    """The open unit; a RuntimeError outside of one, since history without a transaction would be lost."""
    unit = _current.get()
    if unit is None:
        raise RuntimeError("this needs an open portal.kernel.transaction.transaction()")
    return unit


@contextmanager
def transaction() -> Iterator[Unit]:
    """Opens a transaction, or a savepoint inside the open one; what a failed savepoint collected is dropped."""
    outer = _current.get()
    if outer is not None:
        marks = len(outer.entries), len(outer.callbacks)
        try:
            with django_transaction.atomic():
                yield outer
        except BaseException:
            del outer.entries[marks[0] :], outer.callbacks[marks[1] :]
            raise
        return
    unit = Unit()
    reset = _current.set(unit)
    try:
        with django_transaction.atomic():
            yield unit
            _number(unit.entries)
            for callback in unit.callbacks:
                django_transaction.on_commit(partial(callback), robust=True)
    finally:
        _current.reset(reset)


def _number(entries: list[FeedEntry]) -> None:
    """Takes the sequence numbers, scopes in a fixed order so that two transactions cannot deadlock."""
    for scope in sorted({entry.scope for entry in entries}):
        mine = [entry for entry in entries if entry.scope == scope]
        for offset, entry in enumerate(mine, start=_raise(scope, len(mine)) - len(mine) + 1):
            entry.seq = offset
        FeedEntry.objects.bulk_create(mine, ignore_conflicts=any(entry.event_uid for entry in mine))


def _raise(scope: str, by: int) -> int:
    """The scope's counter after this transaction. One statement, since the row stays locked from here to the commit."""
    table = FeedScope._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (scope, last_seq) VALUES (%s, %s) ON CONFLICT (scope)"  # noqa: S608  our own table
            f" DO UPDATE SET last_seq = {table}.last_seq + excluded.last_seq RETURNING last_seq",
            [scope, by],
        )
        return int(cursor.fetchone()[0])
