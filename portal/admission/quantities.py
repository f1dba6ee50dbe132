"""Kubernetes quantities as integers: milli-units for cpu, bytes for memory and storage, units for the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "E": Decimal(10**18),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}
_QUANTITY = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(n|u|m|k|[MGTPE]i?|Ki)?$")
_BYTES = ("memory", "ephemeral-storage", "storage")


def parse(resource: str, quantity: object) -> int:
    """The integer amount of a resource, rounded up. Raises ValueError for text that is no quantity."""
    match = _QUANTITY.match(str(quantity))
    if match is None:
        raise ValueError(f"{quantity!r} is not a quantity")
    amount = Decimal(match[1]) * _SUFFIXES[match[2] or ""]
    return int((amount * _scale(resource)).to_integral_value(rounding=ROUND_CEILING))


def render(resource: str, amount: int) -> str:
    """The canonical text of an integer amount: `1500m`, `64Gi`, `4`."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in _BYTES:
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            unit = int(_SUFFIXES[suffix])
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """What a pod asks of a node: the sum over containers, or a larger init container; limits stand in for requests."""
    total: dict[str, int] = {}
    for container in spec.get("containers") or []:
        for resource, amount in _container_requests(container).items():
            total[resource] = total.get(resource, 0) + amount
    for container in spec.get("initContainers") or []:
        for resource, amount in _container_requests(container).items():
            total[resource] = max(total.get(resource, 0), amount)
    return total


def _container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {resource: parse(resource, quantity) for resource, quantity in asked.items()}


def _scale(resource: str) -> int:
    return 1000 if resource == "cpu" else 1
