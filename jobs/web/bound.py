"""Fields with what stands in them: first values, or what somebody typed and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from jobs.web.fields import OTHER_IMAGE, UNITS, Field, Text
from portal.kernel.errors import FieldError

CHOICES_OF_UNITS = tuple((str(seconds), word) for seconds, word in UNITS)


@dataclass(frozen=True)
class Row:
    """One name and value of a field of rows."""

    name: str
    value: str
    error: str = ""


@dataclass(frozen=True)
class Bound:
    """A field and its content, in the words of its template."""

    field: Field
    value: str = ""
    error: str = ""
    unit: str = ""
    other: str = ""
    rows: tuple[Row, ...] = ()
    options: Sequence[Any] = ()
    units: Sequence[tuple[str, Text]] = CHOICES_OF_UNITS

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def template(self) -> str:
        return f"components/fields/_{self.field.widget}.html"


@dataclass(frozen=True)
class Problem:
    """One refusal as the summary lists it, with the field it leads to."""

    name: str
    anchor: str
    label: Text
    message: str


def bind(
    fields: Sequence[Field],
    posted: QueryDict | None,
    errors: Sequence[FieldError],
    options: Mapping[str, Sequence[Any]],
) -> list[Bound]:
    """Every field with its content; `errors` are placed by the first part of their dotted field."""
    return [_bind(one, posted, errors, options.get(one.name, ())) for one in fields]


def _bind(one: Field, posted: QueryDict | None, errors: Sequence[FieldError], options: Sequence[Any]) -> Bound:
    mine = [error for error in errors if error.field.partition(".")[0] == one.name]
    rows = _rows(one, posted, mine) if one.widget == "rows" else ()
    shown = {row.error for row in rows}
    message = " ".join(str(error.message) for error in mine if str(error.message) not in shown)
    if posted is None:
        return Bound(one, _first(one, options), message, unit=str(one.unit), rows=rows, options=options)
    return Bound(
        one,
        posted.get(one.name) or "",
        message,
        unit=posted.get(f"{one.name}_unit") or "",
        other=posted.get("image_other") or "",
        rows=rows,
        options=options,
    )


def _first(one: Field, options: Sequence[Any]) -> str:
    """A choice begins with its first option, so that the shortest way through the form works."""
    if one.widget in ("flavor", "image") and options:
        return str(options[0].name)
    return one.initial


def _rows(one: Field, posted: QueryDict | None, errors: Sequence[FieldError]) -> tuple[Row, ...]:
    names = posted.getlist(f"{one.name}_name") if posted else []
    values = posted.getlist(f"{one.name}_value") if posted else []
    found, seen = [], dict[str, int]()
    for name, value in zip(names, values, strict=False):
        if not name and not value:
            continue
        seen[name] = seen.get(name, 0) + 1
        faults = [str(error.message) for error in errors if error.field == f"{one.name}.{name}"]
        # A name given twice is marked where it is given again, not where it was right.
        marked = faults if names.count(name) == 1 or seen[name] > 1 else []
        found.append(Row(name, value, " ".join(marked)))
    return (*found, Row("", ""))


def problems(fields: Sequence[Field], errors: Sequence[FieldError]) -> list[Problem]:
    """The refusals in the order of the form, each with the label of its field."""
    order = {one.name: place for place, one in enumerate(fields)}
    by_name = {one.name: one for one in fields}
    ranked = sorted(errors, key=lambda error: order.get(error.field.partition(".")[0], len(order)))
    return [_problem(by_name.get(error.field.partition(".")[0]), error) for error in ranked]


def _problem(one: Field | None, error: FieldError) -> Problem:
    if one is None:
        return Problem(error.field, "new", error.field, str(error.message))
    name, _dot, rest = error.field.partition(".")
    anchor = f"field-{name}" if one.widget in ("rows", "choice", "flavor") else f"id_{name}"
    return Problem(name, anchor, f"{one.label} {rest}" if rest else one.label, str(error.message))


def typed(one: Field, posted: QueryDict) -> bool:
    """Whether anything stands in the field: a check does not complain about what is not yet reached."""
    if one.widget == "rows":
        return any(posted.getlist(f"{one.name}_name"))
    return bool((posted.get(one.name) or "").strip()) and posted.get(one.name) != OTHER_IMAGE
