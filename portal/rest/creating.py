"""Creating POSTs: the Idempotency-Key of the request, and the answer with its replay mark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from portal.kernel import idempotency
from portal.kernel.idempotency import Answer
from portal.rest.access import actor_of

# -> the answer's body, and the id of what was made. Runs inside the transaction.
Command = Callable[[], tuple[dict[str, Any], UUID | None]]


def create(request: Request, *, scope: str, prepare: Callable[[], Command], hide: tuple[str, ...] = ()) -> Response:
    """Runs the command that `prepare` makes once per key. `hide`: fields kept as null for replays."""
    key = request.headers.get("Idempotency-Key")
    answer = idempotency.perform(
        actor_of(request),
        scope=scope,
        key=None if key is None else idempotency.check_key(key),
        fingerprint=idempotency.fingerprint(request.method or "", request.path, request.data),
        prepare=lambda: _answering(prepare()),
        without_secrets=lambda body: {**body, **dict.fromkeys(hide)},
    )
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else {}
    return Response(answer.body, status=answer.status, headers=headers)


def _answering(command: Command) -> idempotency.Command:
    def answer() -> Answer:
        body, object_id = command()
        return Answer(201, body, object_id=object_id)

    return answer
