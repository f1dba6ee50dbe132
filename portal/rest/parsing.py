"""Reading JSON bodies strictly: UTF-8, at most 1 MiB, no duplicate keys, no NaN, no NUL, bounded depth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from portal.kernel.errors import BadRequest

DEEPEST = 32


class StrictJSONParser(BaseParser):
    """`application/json` only; the charset, where given, must be UTF-8."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        request = (parser_context or {}).get("request")
        if request is not None:
            _check_encoding(request, media_type or "")
        raw = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(raw) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        return loads(raw)


def _check_encoding(request: Request, media_type: str) -> None:
    charset = media_type.partition("charset=")[2].strip(' "').lower()
    if charset not in ("", "utf-8", "utf8") or request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise UnsupportedMediaType(media_type, detail=str(_("Send JSON in UTF-8, not compressed.")))


def loads(raw: bytes) -> Any:
    """The JSON value; BadRequest with what is wrong and where."""
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise BadRequest(_("The body is not UTF-8."), code="malformed_json") from error
    except RecursionError as error:
        raise BadRequest(_("The JSON is nested too deeply."), code="malformed_json") from error
    except ValueError as error:
        raise BadRequest(_("The body is not JSON: %(why)s") % {"why": error}, code="malformed_json") from error
    _check(value, DEEPEST)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise BadRequest(_("The key “%(key)s” stands twice.") % {"key": key[:100]}, code="duplicate_key")
        found[key] = value
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _check(value: Any, depth: int) -> None:
    """Refuses what no database text can hold, and depth that no request needs."""
    if depth < 0:
        raise BadRequest(_("The JSON is nested too deeply."), code="malformed_json")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise BadRequest(_("A text holds NUL or half a surrogate pair."), code="malformed_json")
    elif isinstance(value, dict):
        for key, item in value.items():
            _check(key, depth - 1)
            _check(item, depth - 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth - 1)


class AlwaysJSON(BaseContentNegotiation):
    """Every answer is JSON, whatever Accept says."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        wanted = (request.content_type or "").partition(";")[0].strip().lower()
        return next((p for p in parsers if p.media_type == wanted), None)

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], renderers[0].media_type
