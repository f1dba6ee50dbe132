"""Putting and removing one row of the catalogue: the same manners for every table.

A put says what the row shall be; fields that are not named stay. Nothing is written when nothing differs, and every
change leaves one audit row that holds the changed fields only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.db.models import Model, ProtectedError
from django.utils.translation import gettext as _

from portal.audit import services as audit
from portal.kernel import feed
from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict, FieldError, Invalid
from portal.kernel.transaction import transaction
from tenants.policies import require_administrator, require_scope

Fields = Mapping[str, Any]
RowT = TypeVar("RowT", bound=Model)


@dataclass(frozen=True)
class Result(Generic[RowT]):
    """The row as it is now; `before` and `after` hold what changed, both empty when nothing did."""

    row: RowT
    before: Fields
    after: Fields

    @property
    def changed(self) -> bool:
        return bool(self.after)


@dataclass(frozen=True)
class Subject:
    """What the audit log calls a row, and the team it belongs to, if any."""

    type: str
    label: str
    tenant_id: UUID | None = None
    tenant_slug: str = ""


def require(actor: Actor) -> None:
    """The catalogue is the administrators'. Raises Denied."""
    require_scope(actor, "write")
    require_administrator(actor)


def put(actor: Actor, subject: Subject, fresh: RowT, fields: Fields) -> Result[RowT]:
    """Inside the caller's transaction, after it has locked and judged: writes `fields` onto `fresh`.

    `fresh` is a row from the database, or a new instance with its key set. Raises Invalid with the fields that the
    table itself refuses, or Conflict `name_taken`.
    """
    new = fresh._state.adding
    before = (
        {} if new else {name: getattr(fresh, name) for name, value in fields.items() if getattr(fresh, name) != value}
    )
    after = dict(fields) if new else {name: fields[name] for name in before}
    if not new and not after:
        return Result(fresh, {}, {})
    for name, value in after.items():
        setattr(fresh, name, value)
    try:
        fresh.full_clean(exclude=None if new else [f.name for f in fresh._meta.fields if f.name not in after])
        with transaction():
            fresh.save(force_insert=new, update_fields=None if new else list(after))
    except ValidationError as error:
        raise invalid(error) from error
    except IntegrityError as error:
        raise Conflict(_("This name is taken, or somebody else changed the same thing."), code="name_taken") from error
    note(actor, subject, fresh.pk, "created" if new else "changed", before=before or None, after=after)
    return Result(fresh, before, after)


def remove(actor: Actor, subject: Subject, row: Model) -> None:
    """Inside the caller's transaction: deletes a row that becomes nothing on a cluster. Conflict `in_use`."""
    key = row.pk
    try:
        with transaction():
            row.delete()
    except ProtectedError as error:
        raise in_use() from error
    note(actor, subject, key, "deleted")


def note(
    actor: Actor, subject: Subject, key: UUID, verb: str, *, before: Fields | None = None, after: Fields | None = None
) -> None:
    """The audit row and the feed entry of one command."""
    audit.record(
        actor=actor,
        verb=f"{subject.type}.{verb}",
        target_type=subject.type,
        target_id=key,
        target_label=subject.label,
        tenant_id=subject.tenant_id,
        tenant_slug=subject.tenant_slug,
        before=_plain(before),
        after=_plain(after),
    )
    scope = feed.tenant_scope(subject.tenant_id) if subject.tenant_id else feed.PLATFORM
    feed.append(scope=scope, topic=subject.type, object_id=key, type=verb, params={"name": subject.label}, by=actor)


def in_use() -> Conflict:
    return Conflict(_("Something still uses this; change or remove that first."), code="in_use")


def invalid(error: ValidationError) -> Invalid:
    """What a table refused, field by field."""
    found = error.message_dict if hasattr(error, "error_dict") else {"__all__": error.messages}
    return Invalid([FieldError(field, "invalid", " ".join(messages)) for field, messages in found.items()])


def refuse(field: str, message: str, code: str = "invalid") -> Invalid:
    return Invalid.field(field, message, code)


def _plain(values: Fields | None) -> dict[str, object] | None:
    """As JSON: related rows by their name, decimals and dates as text."""
    if values is None:
        return None
    kept = (str, int, bool, list, dict, type(None))
    return {name: value if isinstance(value, kept) else str(value) for name, value in values.items()}
