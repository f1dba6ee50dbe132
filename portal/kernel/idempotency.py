"""Idempotency-Key: the answer to a creating POST is stored in the transaction of the row it made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection
from django.utils.translation import gettext_lazy as _

from portal.kernel import clock
from portal.kernel.actors import Actor
from portal.kernel.errors import BadRequest, FieldError, Invalid, PortalError
from portal.kernel.models import IdempotencyRecord
from portal.kernel.transaction import transaction

KEPT = timedelta(hours=24)
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass(frozen=True)
class Answer:
    """What a creating POST answers: `body` is JSON, `replayed` says that an earlier request made the row."""

    status: int
    body: Any
    replayed: bool = False
    object_id: UUID | None = None


Command = Callable[[], Answer]


class Mismatch(Invalid):
    """The key was used with another body or path (422)."""

    code = "idempotency_mismatch"


def fingerprint(method: str, path: str, body: object) -> str:
    """SHA-256 over what makes two requests the same."""
    text = json.dumps([method, path, body], sort_keys=True)  # orjson refuses integers beyond 64 bits
    return hashlib.sha256(text.encode()).hexdigest()


def check_key(key: str) -> str:
    """The key as given; BadRequest unless 1 to 255 visible ASCII characters."""
    if not VISIBLE_ASCII.fullmatch(key):
        raise BadRequest(_("Idempotency-Key must be 1 to 255 visible ASCII characters."), code="idempotency_key")
    return key


def perform(
    actor: Actor,
    *,
    scope: str,
    key: str | None,
    fingerprint: str,
    prepare: Callable[[], Command],
    without_secrets: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
) -> Answer:
    """Prepares and runs a command once per (scope, principal, key); later and concurrent callers get the first answer.

    `scope` is the tenant's feed scope or `platform`. `prepare` reads and refuses before the transaction begins, so that
    nobody waits for it behind a lock; the command that it returns runs inside. Only what the command returns is kept:
    an error keeps nothing. The key is claimed by the first statement, so of two at the same moment one waits.
    """
    if key is None:
        command = prepare()
        with transaction():
            return command()
    place = {"scope": scope, "principal": f"{actor.type}:{actor.id}", "key": key}
    kept = IdempotencyRecord.objects.filter(**place)
    row = kept.first()
    if row is not None and row.created_at >= clock.now() - KEPT:
        return _replay(row, fingerprint)
    try:
        command = prepare()
        if row is not None:
            kept.filter(created_at__lt=clock.now() - KEPT).delete()
        return _first(IdempotencyRecord(**place, fingerprint=fingerprint), command, without_secrets)
    except (PortalError, IntegrityError):
        # What stands in the way may be what another request with this key has made meanwhile.
        row = kept.filter(created_at__gte=clock.now() - KEPT).first()
        if row is None:
            raise
        return _replay(row, fingerprint)


def _first(
    row: IdempotencyRecord,
    command: Command,
    without_secrets: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Answer:
    with transaction():
        _limit_wait()
        row.save(force_insert=True)
        answer = command()
        # As text: a database that keeps JSON its own way would give the keys back in another order.
        row.status, row.body, row.object_id = answer.status, _text(without_secrets(answer.body)), answer.object_id
        row.save(update_fields=["status", "body", "object_id"])
    return answer


def _replay(row: IdempotencyRecord, fingerprint: str) -> Answer:
    if row.fingerprint != fingerprint:
        message = str(_("This key was used with another request."))
        raise Mismatch([FieldError("Idempotency-Key", "idempotency_mismatch", message)], message)
    return Answer(row.status, json.loads(row.body or "null"), replayed=True, object_id=row.object_id)


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)


def _limit_wait() -> None:
    """A concurrent request with the same key waits at most 10 s (SQLite: the connection's own time-out)."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '10s'")
