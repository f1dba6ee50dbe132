"""Cursor pages over ids (UUIDv7: creation order). A cursor is signed, bound to who asks, the filters and the order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core import signing
from django.db.models import Model, QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from portal.kernel.errors import BadRequest
from portal.rest.access import actor_of

SALT = "turno.cursor"
DEFAULT_SIZE, LARGEST_SIZE = 50, 200
OLDEST_CURSOR = 86_400


def page(
    request: Request,
    rows: QuerySet[Any],
    render: Callable[[list[Any]], list[dict[str, Any]]],
    *,
    column: str = "id",
    default_order: str = "-created_at",
) -> dict[str, Any]:
    """`{next, previous, results}` of at most `page_size` rows, in the order asked for."""
    size = _size(request)
    newest_first = _newest_first(request, default_order)
    binding = _binding(request, newest_first)
    position, backwards = _read(request, binding)
    descending = newest_first != backwards
    if position is not None:
        rows = rows.filter(**{f"{column}__{'lt' if descending else 'gt'}": position})
    found = list(rows.order_by(f"{'-' if descending else ''}{column}")[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    has_next = bool(found) and (more or backwards)
    has_previous = bool(found) and position is not None and (more or not backwards)
    return {
        "next": _link(request, _value(found[-1], column), binding, backwards=False) if has_next else None,
        "previous": _link(request, _value(found[0], column), binding, backwards=True) if has_previous else None,
        "results": render(found),
    }


def _value(row: Model, column: str) -> str:
    return str(getattr(row, column))


def _size(request: Request) -> int:
    given = request.query_params.get("page_size", str(DEFAULT_SIZE))
    if not (given.isascii() and given.isdigit() and len(given) < 5 and 1 <= int(given) <= LARGEST_SIZE):
        raise BadRequest(_("page_size must be a whole number from 1 to 200."), code="page_size")
    return int(given)


def _newest_first(request: Request, default: str) -> bool:
    order = request.query_params.get("order", default)
    if order not in ("created_at", "-created_at"):
        raise BadRequest(_("order must be created_at or -created_at."), code="order")
    return order == "-created_at"


def _binding(request: Request, newest_first: bool) -> str:  # noqa: FBT001
    """What a cursor belongs to: path, person, filters and order; not the page size."""
    filters = sorted((k, v) for k, v in request.query_params.lists() if k not in ("cursor", "page_size", "order"))
    actor = actor_of(request)
    text = repr([request.path, actor.type, str(actor.id), filters, newest_first])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(request: Request, binding: str) -> tuple[Any, bool]:
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None, False
    refused = BadRequest(_("The cursor does not belong to this list."), code="cursor")
    try:
        bound, position, backwards = signing.loads(cursor, salt=SALT, max_age=OLDEST_CURSOR)
        value: Any = int(position) if str(position).isdigit() else UUID(position)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise refused from error
    if bound != binding:
        raise refused
    return value, bool(backwards)


def _link(request: Request, position: str, binding: str, *, backwards: bool) -> str:
    query = [(k, v) for k, values in request.query_params.lists() for v in values if k != "cursor"]
    query.append(("cursor", signing.dumps([binding, position, backwards], salt=SALT)))
    return request.build_absolute_uri(f"{request.path}?{urlencode(query)}")
