"""What the API server refuses, as Python errors that carry the Status object of the answer.

The texts, reasons and causes are those of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portal.cluster.simulated.objects import Obj, Resource


class ApiError(Exception):
    """A refusal. `status` is the HTTP code; `reason` and `details` as in metav1.Status (None: left out)."""

    def __init__(self, status: int, reason: str | None, message: str, details: Obj | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details

    def body(self) -> Obj:
        """The metav1.Status that the API answers with."""
        answer: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason is not None:
            answer["reason"] = self.reason
        if self.details is not None:
            answer["details"] = self.details
        answer["code"] = self.status
        return answer


class NotFound(ApiError):
    def __init__(self, resource: Resource, name: str) -> None:
        super().__init__(404, "NotFound", f'{resource.qualified_plural} "{name}" not found', _details(resource, name))


class AlreadyExists(ApiError):
    def __init__(self, resource: Resource, name: str) -> None:
        message = f'{resource.qualified_plural} "{name}" already exists'
        super().__init__(409, "AlreadyExists", message, _details(resource, name))


class Conflict(ApiError):
    """The object is not at the resourceVersion that the writer saw."""

    def __init__(self, resource: Resource, name: str) -> None:
        message = (
            f'Operation cannot be fulfilled on {resource.qualified_plural} "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again"
        )
        super().__init__(409, "Conflict", message, _details(resource, name))


class PreconditionFailed(ApiError):
    """A delete's uid or resourceVersion precondition does not hold. The kind is named here, not the resource."""

    def __init__(self, resource: Resource, name: str, text: str) -> None:
        details: Obj = {"name": name, "kind": resource.kind}
        if resource.group:
            details = {"name": name, "group": resource.group, "kind": resource.kind}
        message = f'Operation cannot be fulfilled on {resource.qualified_kind} "{name}": {text}'
        super().__init__(409, "Conflict", message, details)


class NamespaceGoing(ApiError):
    """A second delete of a namespace, while what was in it goes."""

    def __init__(self, resource: Resource, name: str) -> None:
        message = (
            f'Operation cannot be fulfilled on namespaces "{name}": The system is ensuring all content is removed from '
            "this namespace.  Upon completion, this namespace will automatically be purged by the system."
        )
        super().__init__(409, "Conflict", message, _details(resource, name))


class BadRequest(ApiError):
    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)


class Forbidden(ApiError):
    def __init__(self, resource: Resource, name: str, text: str, causes: Sequence[Obj] = ()) -> None:
        details = _details(resource, name)
        if causes:
            details["causes"] = list(causes)
        message = f'{resource.qualified_plural} "{name}" is forbidden: {text}'
        super().__init__(403, "Forbidden", message, details)


class WebhookDenied(ApiError):
    """An admission webhook's refusal: 403 without details, or 400 without even a reason when it could not decode."""

    def __init__(self, webhook: str, text: str, status: int = 403) -> None:
        reason = "Forbidden" if status == 403 else None
        super().__init__(status, reason, f'admission webhook "{webhook}" denied the request: {text}')


class Expired(ApiError):
    """A list or watch asked for a resourceVersion that is no longer held."""

    def __init__(self, message: str) -> None:
        super().__init__(410, "Expired", message)


@dataclass(frozen=True)
class Cause:
    """One field error, in the words of Kubernetes' field package."""

    reason: str
    message: str
    field: str

    def as_dict(self) -> Obj:
        return {"reason": self.reason, "message": self.message, "field": self.field}


class Invalid(ApiError):
    """422 with one cause per faulty field."""

    def __init__(self, resource: Resource, name: str, causes: Sequence[Cause]) -> None:
        details: Obj = {"name": name}
        if resource.group:
            details["group"] = resource.group
        details |= {"kind": resource.kind, "causes": [cause.as_dict() for cause in causes]}
        super().__init__(422, "Invalid", invalid_message(resource.qualified_kind, name, causes), details)


def invalid_message(kind: str, name: str, causes: Sequence[Cause]) -> str:
    """`Kind "name" is invalid: …`, the faults in brackets when there are several; equal ones are told once."""
    faults = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    told = faults[0] if len(faults) == 1 else "[" + ", ".join(faults) + "]"
    return f'{kind} "{name}" is invalid: {told}'


def _details(resource: Resource, name: str) -> Obj:
    details: Obj = {"name": name}
    if resource.group:
        details["group"] = resource.group
    details["kind"] = resource.plural
    return details
