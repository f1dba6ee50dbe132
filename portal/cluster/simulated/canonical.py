"""Quantities as the API server writes them: `1000m` becomes `1`, `0.5` becomes `500m`, `1024Mi` becomes `1Gi`."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal
from typing import Any

from portal.cluster.simulated.objects import Obj

QUANTITY_TEXT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?[0-9]+)?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def is_quantity(value: Any) -> bool:
    """Text or number that a Quantity can be read from."""
    return not isinstance(value, bool) and _QUANTITY.fullmatch(str(value)) is not None


def canonical(value: Any) -> str:
    """The canonical text. What is finer than a billionth is rounded up. Raises ValueError for what is no quantity."""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise ValueError(QUANTITY_TEXT)
    number, suffix = Decimal(found[1]), found[2] or ""
    if suffix.endswith("i"):
        amount = number * 1024 ** _BINARY[suffix]
        if abs(amount) >= 1024:
            return _binary(int(amount.to_integral_value(rounding=ROUND_CEILING)))
        return _decimal(amount)
    if suffix in _DECIMAL:
        return _decimal(number.scaleb(_DECIMAL[suffix]))
    return _decimal(number.scaleb(int(suffix[1:])))


def _binary(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{amount}{next(suffix for suffix, exponent in _BINARY.items() if exponent == power)}"


def _decimal(amount: Decimal) -> str:
    nanos = int(amount.scaleb(9).to_integral_value(rounding=ROUND_CEILING))
    if nanos == 0:
        return "0"
    for suffix, exponent in reversed(_DECIMAL.items()):
        whole, rest = divmod(nanos, 10 ** (exponent + 9))
        if rest == 0:
            return f"{whole}{suffix}"
    raise AssertionError("a whole number of billionths has a suffix")


def canonicalize(amounts: Any) -> None:
    """A map of quantities, in place; None is left alone."""
    for name in amounts or {}:
        amounts[name] = canonical(amounts[name])


def canonicalize_resources(holder: Obj) -> None:
    """The requests and limits in `holder["resources"]`, in place."""
    resources = holder.get("resources") or {}
    canonicalize(resources.get("requests"))
    canonicalize(resources.get("limits"))
