"""What an API server's refusal means: status, reason and words -> a `ClusterError`. Pure.

Read off recorded answers of Kubernetes 1.36 and Kueue 0.17; where status and reason do not tell two causes apart (a
webhook's 403 and RBAC's), the server's fixed phrases do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from portal.cluster.port import (
    AlreadyExists,
    ClusterError,
    Expired,
    FieldConflict,
    Forbidden,
    InvalidObject,
    Missing,
    NamespaceTerminating,
    QueueSystemUnavailable,
    RejectedByWebhook,
    ServerTrouble,
    TooManyRequests,
    Unauthorized,
    VersionConflict,
)

_DENIED = re.compile(r'^admission webhook "[^"]*" denied the request|ValidatingAdmissionPolicy .* denied request')
_POD_SECURITY = "violates PodSecurity"
_OTHER_MANAGER = re.compile(r'^conflict with "([^"]*)"')
_LONGEST_TEXT = 2000


def failure(status: int, body: bytes, *, retry_after: str | None = None) -> ClusterError:
    """The error of an answer with this status (300 or more), body and Retry-After header."""
    answer = _status_object(body)
    return from_status_object(answer, status=status, retry_after=_seconds(retry_after))


def from_status_object(answer: Mapping[str, Any], *, status: int, retry_after: float | None = None) -> ClusterError:
    """The error of a `Status` object: an answer's body, or an ERROR event of a watch."""
    message = str(answer.get("message") or "")[:_LONGEST_TEXT]
    details = answer.get("details") if isinstance(answer.get("details"), dict) else {}
    causes = [cause for cause in (details or {}).get("causes") or [] if isinstance(cause, dict)]
    if retry_after is None:
        retry_after = _seconds((details or {}).get("retryAfterSeconds"))
    if 400 <= status < 500 and _DENIED.search(message):
        return RejectedByWebhook(message)
    if status == 403:
        return _forbidden(message, causes)
    if status == 409:
        return _conflict(message, str(answer.get("reason") or ""), causes)
    if status >= 500 or status < 400:
        return _trouble(message, retry_after, status)
    if status in _BY_STATUS:
        return _BY_STATUS[status](message, retry_after=retry_after)
    return InvalidObject(message, causes={str(c.get("field", "")): str(c.get("message", "")) for c in causes})


_BY_STATUS: Mapping[int, type[ClusterError]] = {
    401: Unauthorized,
    404: Missing,
    410: Expired,
    429: TooManyRequests,
}


def _forbidden(message: str, causes: list[dict[str, Any]]) -> ClusterError:
    if any(cause.get("reason") == "NamespaceTerminating" for cause in causes):
        return NamespaceTerminating(message)
    if _POD_SECURITY in message:
        return RejectedByWebhook(message)
    return Forbidden(message)


def _conflict(message: str, reason: str, causes: list[dict[str, Any]]) -> ClusterError:
    if reason == "AlreadyExists":
        return AlreadyExists(message)
    owners: dict[str, str] = {}
    for cause in causes:
        found = _OTHER_MANAGER.match(str(cause.get("message", "")))
        if cause.get("reason") == "FieldManagerConflict" and found:
            owners[str(cause.get("field", ""))] = found[1]
    return FieldConflict(message, owners=owners) if owners else VersionConflict(message)


def _trouble(message: str, retry_after: float | None, status: int) -> ClusterError:
    if "failed calling webhook" in message and "kueue" in message:
        return QueueSystemUnavailable(message, retry_after=retry_after)
    return ServerTrouble(message or f"HTTP {status}", retry_after=retry_after)


def _status_object(body: bytes) -> dict[str, Any]:
    """The body as a dict; a body that is no JSON object (a proxy's page) becomes its own message."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if isinstance(answer, dict):
        return answer
    return {"message": body[:_LONGEST_TEXT].decode(errors="replace").strip()}


def _seconds(value: object) -> float | None:
    text = str(value) if value is not None else ""
    return float(text) if text.isascii() and text.isdigit() else None
