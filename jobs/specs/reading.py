"""Reading a JSON object field by field: every fault is collected, with the dotted path of its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jobs.specs.context import SpecContext
from jobs.specs.words import is_text
from jobs.states import gettext_noop as _
from portal.kernel.errors import FieldError

MOST_ENTRIES = 1000
NOT_TEXT = _("Use text.")


class Reader:
    """One request. A getter answers None (or its default) after it noted a fault; `done()` raises them all."""

    def __init__(self, data: Mapping[str, Any], context: SpecContext) -> None:
        self.data = data
        self.context = context
        self.faults: list[FieldError] = []
        self.read: set[str] = set()

    def fault(self, field: str, msgid: str, code: str = "invalid", **values: object) -> None:
        most = values.get("most")
        limit = most if code == "exceeds_maximum" and isinstance(most, int) else None
        self.faults.append(FieldError(field, code, self.context.say(msgid, **values), limit))

    def done(self) -> list[FieldError]:
        """Every fault, unknown fields among them."""
        for name in self.data:
            if name not in self.read:
                self.fault(str(name), _("There is no such field."), "unknown_field")
        return self.faults

    def value(self, field: str, *, required: bool = False) -> Any:
        """What was sent, None where it is missing."""
        self.read.add(field)
        if field not in self.data:
            if required:
                self.fault(field, _("This is required."), "required")
            return None
        return self.data[field]

    def text(self, field: str, *, required: bool = False, default: str = "", longest: int = 63) -> str | None:
        """Text of at most `longest` characters; the default where it is missing."""
        value = self.value(field, required=required)
        if field not in self.data:
            return None if required else default
        if not isinstance(value, str):
            self.fault(field, NOT_TEXT)
        elif required and not value:
            self.fault(field, _("This is required."), "required")
        elif len(value) > longest:
            self.fault(field, _("Use at most %(longest)s characters."), longest=longest)
        elif not is_text(value):
            self.fault(field, _("It holds a character that cannot be kept."))
        else:
            return value
        return None

    def matching(self, field: str, pattern: re.Pattern[str], msgid: str, *, required: bool = False) -> str | None:
        """Text of exactly this form; "" where it is missing or empty and not required."""
        value = self.text(field, required=required)
        if value and not pattern.fullmatch(value):
            self.fault(field, msgid)
            return None
        return value

    def number(
        self, field: str, *, least: int, most: int, required: bool = False, default: int | None = None
    ) -> int | None:
        """A whole number; 1.0 counts as 1, true, "1" and 0.5 do not. null counts as missing where not required."""
        value = self.value(field, required=required)
        if field not in self.data or (value is None and not required):
            return default
        whole = as_whole(value)
        if whole is None:
            self.fault(field, _("Use a whole number."))
        elif whole < least:
            self.fault(field, _("Use at least %(least)s."), least=least)
        elif whole > most:
            self.fault(field, _("Use at most %(most)s."), most=most)
        else:
            return whole
        return default

    def choice(self, field: str, known: Mapping[str, str], default: str) -> str:
        """A variant: `invalid` where nobody knows it, `variant_unavailable` with the reason where it is not offered."""
        value = self.text(field, default=default)
        if value is None:
            return default
        if value not in known:
            self.fault(field, _("Use one of: %(known)s."), known=", ".join(known))
        elif known[value]:
            self.faults.append(FieldError(field, "variant_unavailable", self.context.say(known[value])))
        return value

    def mapping(self, field: str) -> dict[str, str]:
        """An object of text values; entries that are no text are noted and left out."""
        value = self.value(field)
        if value is None and field not in self.data:
            return {}
        if not isinstance(value, Mapping):
            self.fault(field, _("Use an object of names and texts."))
            return {}
        if len(value) > MOST_ENTRIES:
            self.fault(field, _("Use at most %(most)s entries."), most=MOST_ENTRIES)
            return {}
        found: dict[str, str] = {}
        for name, text in value.items():
            if not isinstance(text, str):
                self.fault(f"{field}.{name}", NOT_TEXT)
            elif not is_text(text) or not is_text(name):
                self.fault(f"{field}.{name}", _("It holds a character that cannot be kept."))
            else:
                found[name] = text
        return found

    def words(self, field: str) -> tuple[str, ...]:
        """A list of texts, empty ones included, in order."""
        value = self.value(field)
        if value is None and field not in self.data:
            return ()
        if not isinstance(value, list):
            self.fault(field, _("Use a list of texts."))
            return ()
        if len(value) > MOST_ENTRIES or sum(len(word) for word in value if isinstance(word, str)) > 128 * 1024:
            self.fault(field, _("This is too long."))
            return ()
        for place, word in enumerate(value):
            if not isinstance(word, str):
                self.fault(f"{field}.{place}", NOT_TEXT)
            elif not is_text(word):
                self.fault(f"{field}.{place}", _("It holds a character that cannot be kept."))
        return tuple(word for word in value if isinstance(word, str))


def as_whole(value: object) -> int | None:
    """1, 1.0 and 1e0 are 1; everything that is no whole number is None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None
