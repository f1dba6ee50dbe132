"""Turno's errors. Rooms raise these or their own subclasses; only `portal.shell` turns them into HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldError:
    """One fault of one field: `field` is a dotted path into the request (`env.PATH`), `message` is for people.

    `most`: what could have been asked at most, where the fault is to ask for more.
    """

    field: str
    code: str
    message: str
    most: int | None = None


class PortalError(Exception):
    """Base of everything Turno says no with.

    `code` is stable and machine-readable, `message` is for people and may be a lazy translation.
    """

    code = "error"

    def __init__(self, message: object = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class Invalid(PortalError):
    """The request names a field that cannot be accepted (422)."""

    code = "invalid"

    def __init__(self, errors: Sequence[FieldError], message: object = "") -> None:
        super().__init__(message or "; ".join(f"{e.field}: {e.message}" for e in errors))
        self.errors = tuple(errors)

    @classmethod
    def field(cls, field: str, message: object, code: str = "invalid") -> Invalid:
        return cls([FieldError(field, code, str(message))])


class BadRequest(PortalError):
    """The request itself cannot be read: JSON, header, cursor or query (400)."""

    code = "bad_request"


class Unauthenticated(PortalError):
    """Nobody known is asking (401)."""

    code = "unauthenticated"


class Denied(PortalError):
    """The actor may see the object but not do this to it (403)."""

    code = "forbidden"


class NotFound(PortalError):
    """Missing, or not for this actor to see: the two are never told apart (404)."""

    code = "not_found"


class Conflict(PortalError):
    """The object's state or a taken name forbids it now (409)."""

    code = "conflict"


class PreconditionFailed(PortalError):
    """If-Match did not match (412)."""

    code = "precondition_failed"


class TooMany(PortalError):
    """Asked too often or too much at once (429). `retry_after` in seconds."""

    code = "too_many"

    def __init__(self, message: object = "", *, code: str | None = None, retry_after: int = 1) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after


class Unavailable(PortalError):
    """Something behind Turno does not answer (503). `retry_after` in seconds."""

    code = "unavailable"

    def __init__(self, message: object = "", *, code: str | None = None, retry_after: int = 2) -> None:
        super().__init__(message, code=code)
        self.retry_after = retry_after
