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


def create(
    request: Request,
    *,
    scope: str,
    command: Callable[[], tuple[dict[str, Any], UUID | None]],
    hide: tuple[str, ...] = (),
) -> Response:
    """Runs `command` (-> body, id of what it made) once per key. `hide`: fields kept as null for replays."""
    key = request.headers.get("Idempotency-Key")
    answer = idempotency.perform(
        actor_of(request),
        scope=scope,
        key=None if key is None else idempotency.check_key(key),
        fingerprint=idempotency.fingerprint(request.method or "", request.path, request.data),
        command=lambda: _answer(*command()),
        without_secrets=lambda body: {**body, **dict.fromkeys(hide)},
    )
    headers = {"Idempotency-Replayed": "true"} if answer.replayed else {}
    return Response(answer.body, status=answer.status, headers=headers)


def _answer(body: dict[str, Any], object_id: UUID | None) -> Answer:
    return Answer(201, body, object_id=object_id)
