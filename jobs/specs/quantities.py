"""Kubernetes quantities: read exactly, never rounded, kept as typed."""

from __future__ import annotations

import re
from decimal import Decimal

LONGEST = 24
_QUANTITY = re.compile(r"(\d{1,18}(?:\.\d{1,9})?|\.\d{1,9})(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][0-9]{1,2})?")
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
MIB = 1024**2


def amount(text: str) -> Decimal | None:
    """The value in base units (cores, bytes); None where it is no quantity. `1e3` and `.5` are, `4 cores` is not."""
    if len(text) > LONGEST:
        return None
    match = _QUANTITY.fullmatch(text)
    if match is None or not text.isascii():
        return None
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix == "m":
        return number / 1000
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    if suffix in _DECIMAL:
        return number * Decimal(10) ** _DECIMAL[suffix]
    return number * Decimal(10) ** int(suffix[1:])


def millicores(text: str) -> int | None:
    """CPU in thousandths of a core; None where it is no quantity, not positive, or finer than 1m."""
    value = amount(text)
    return _whole(None if value is None else value * 1000)


def whole_bytes(text: str) -> int | None:
    """Memory or storage in bytes; None where it is no quantity, not positive, or not a whole number of bytes."""
    return _whole(amount(text))


def _whole(value: Decimal | None) -> int | None:
    if value is None or value <= 0 or value != value.to_integral_value():
        return None
    return int(value)
