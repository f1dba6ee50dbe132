"""Rows -> answers (api.md, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import translation

from jobs import selectors
from portal.rest.answers import stamp

if TYPE_CHECKING:
    from rest_framework.request import Request

    from jobs.models import Workload


def _language() -> str:
    return translation.get_language() or "en"


def _with_addresses(origin: str, body: dict[str, Any]) -> dict[str, Any]:
    body["url"] = origin + body["url"]
    if body["connect_url"]:
        body["connect_url"] = origin + body["connect_url"]
    return body


def _origin(request: Request) -> str:
    """Scheme and host as the caller sees them."""
    return request.build_absolute_uri("/")[:-1]


def workload(request: Request, row: Workload) -> dict[str, Any]:
    """One workload, whole."""
    return _with_addresses(_origin(request), selectors.represent(row, detail=True, language=_language()))


def workloads(request: Request, rows: list[Workload]) -> list[dict[str, Any]]:
    """Rows of a list: no env, no events, no manifests, position null."""
    origin, language = _origin(request), _language()
    return [_with_addresses(origin, selectors.represent(row, detail=False, language=language)) for row in rows]


def runs(rows: list[Any]) -> list[dict[str, Any]]:
    return selectors.represent_runs(rows)


def events(rows: list[Any]) -> list[dict[str, Any]]:
    language = _language()
    return [
        {
            "seq": row.seq,
            "at": stamp(row.at),
            "source": row.source,
            "type": row.type,
            "reason": row.reason,
            "message": selectors.sentence(row.message, row.params, language),
            "by": row.by_label or None,
        }
        for row in rows
    ]


def dry_run(found: Any) -> dict[str, Any]:
    preview = found.preview and {**found.preview, **_likely(found.preview), "as_of": stamp(found.preview["as_of"])}
    return {"valid": found.valid, "preview": preview, "manifests": found.manifests}


def _likely(found: dict[str, Any]) -> dict[str, Any]:
    start, forecast = found["likely_start"], found["forecast"]
    times = {name: stamp(forecast[name]) for name in ("p10", "made_at", "as_of")} if forecast else {}
    return {
        "likely_start": start and {name: stamp(at) for name, at in start.items()},
        "forecast": forecast and {**forecast, **times},
    }


def explain(found: dict[str, Any]) -> dict[str, Any]:
    holders = [{**one, "since": stamp(one["since"])} for one in found["holders"]]
    return {**found, **_likely(found), "holders": holders, "as_of": stamp(found["as_of"])}
