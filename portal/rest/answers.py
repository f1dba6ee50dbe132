"""Shapes that many answers share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers

PAGE_PARAMETERS = [
    OpenApiParameter("cursor", str, description="From `next` or `previous` of an earlier page."),
    OpenApiParameter("page_size", int, description="1 to 200; 50 where it is missing."),
    OpenApiParameter("order", str, enum=["created_at", "-created_at"], description="Newest first where missing."),
]


def stamp(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC with Z, microseconds cut to milliseconds."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def paged(name: str, row: type[serializers.Serializer[Any]]) -> Any:
    """The schema of a cursor page of rows; one component per name."""
    return inline_serializer(
        f"{name}Page",
        {
            "next": serializers.CharField(allow_null=True),
            "previous": serializers.CharField(allow_null=True),
            "results": row(many=True),
        },
    )


def rows(values: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A short list in the form of a page that has no other."""
    return {"next": None, "previous": None, "results": list(values)}
