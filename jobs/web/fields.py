"""The fields of the three forms: what a person types, and the JSON it stands for.

A form never judges a value: it turns text into the same JSON that a pipeline would send, and the request's own
validation speaks for both. What does not read as a number stays text, so that the same sentence answers it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise
UNITS: tuple[tuple[int, Text], ...] = ((60, _("minutes")), (3600, _("hours")), (86400, _("days")))
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d{1,3})?")


class FormFault(Exception):
    """A text that stands for no JSON at all: a quote that never closes, a name given twice."""

    def __init__(self, field_name: str, message: Text) -> None:
        super().__init__(field_name)
        self.field_name = field_name
        self.message = message


@dataclass(frozen=True)
class Field:
    """One field. `widget` names the template piece; `more` folds it away; `short` ones share a line; `unit`: the
    seconds of the unit that a duration begins with."""

    name: str
    label: Text
    hint: Text = ""
    widget: str = "text"
    required: bool = False
    more: bool = False
    short: bool = False
    initial: str = ""
    unit: int = 3600
    choices: tuple[tuple[str, Text], ...] = ()
    example: Text = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


def number(text: str) -> int | float | str:
    """ "2" -> 2, "0.5" -> 0.5, "two" -> "two"."""
    text = text.strip()
    if not NUMBER.fullmatch(text) or re.match(r"-?0\d", text):
        return text
    found: int | float = json.loads(text)
    return found


def words(name: str, text: str) -> list[str]:
    """Splits as a shell would, without being one: quotes group, nothing is expanded."""
    try:
        return shlex.split(text)
    except ValueError as fault:
        raise FormFault(name, _("A quotation mark is opened and never closed.")) from fault


def seconds(amount: str, unit: str) -> int | float | str:
    """An amount and its unit as whole seconds; what is no number stays text."""
    value = number(amount)
    if isinstance(value, str) or not unit.isdigit():
        return value
    total = value * int(unit)
    return int(total) if float(total).is_integer() else total


def rows(name: str, names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Name and value rows as an object; an empty row is none, a name given twice is a fault. Line ends become `\\n`."""
    found: dict[str, str] = {}
    for key, value in zip(names, values, strict=False):
        if not key and not value:
            continue
        if key in found:
            raise FormFault(f"{name}.{key}", _("This name is given twice."))
        found[key] = value.replace("\r\n", "\n").replace("\r", "\n")
    return found


def read(one: Field, posted: QueryDict) -> object | None:
    """The JSON value of one field, or None where nothing was typed."""
    if one.widget == "rows":
        return rows(one.name, posted.getlist(f"{one.name}_name"), posted.getlist(f"{one.name}_value")) or None
    text = (posted.get(one.name) or "").replace("\r\n", "\n")
    if one.name == "image" and text == OTHER_IMAGE:
        text = posted.get("image_other") or ""
    if one.widget == "area":
        return text.strip() or None
    text = text.strip()
    if not text:
        return None
    if one.widget == "number":
        return number(text)
    if one.widget == "duration":
        return seconds(text, posted.get(f"{one.name}_unit") or "")
    if one.widget == "words":
        return words(one.name, text)
    return text


OTHER_IMAGE = "other"


def body(fields: Sequence[Field], posted: QueryDict) -> dict[str, object]:
    """The request that the form stands for, as a client would send it. Raises FormFault."""
    values = {one.name: read(one, posted) for one in fields}
    return {name: value for name, value in values.items() if value is not None}
