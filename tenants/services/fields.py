"""Faults of a request, collected so that it hears of all of them at once."""

from __future__ import annotations

from django.utils.translation import gettext as _

from portal.kernel.errors import FieldError, Invalid


class Faults:
    """What is wrong with a request, field by field."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []

    def unless(self, ok: object, field: str, message: str, code: str = "invalid") -> None:
        """Notes the fault unless `ok` is true."""
        if not ok:
            self.errors.append(FieldError(field, code, message))

    def refuse(self) -> None:
        """Raises Invalid when there is any fault."""
        if self.errors:
            raise Invalid(self.errors)


def is_line(value: object, longest: int) -> bool:
    """Whether this is text for people: 1 to `longest` printable characters, not blank at either end."""
    return isinstance(value, str) and 0 < len(value) <= longest and value == value.strip() and value.isprintable()


def line_message(longest: int) -> str:
    """What to say where `is_line` is false."""
    return _("Use 1 to %(longest)s characters on one line, without blanks at either end.") % {"longest": longest}


def role_message() -> str:
    return _("The role is viewer, member or manager.")
