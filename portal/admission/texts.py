"""Cells and amounts in Kueue's messages."""

from collections.abc import Callable

from portal.admission import messages
from portal.admission.nodes import QuotaNode


class AmountText:
    """Says why a cell cannot be had; `amount` writes an amount of a resource."""

    def __init__(self, names: list[tuple[str, str]], amount: Callable[[str, int], str]) -> None:
        self._names = names
        self._amount = amount

    def reason(self, node: QuotaNode, cell: int, before: int, amount: int) -> str:
        """Why `amount` of a cell is not free, `before` being what earlier pod sets take of it."""
        flavor, resource = self._names[cell]
        maximum = node.maximum(cell)
        if before + amount > maximum:
            texts = (self._amount(resource, value) for value in (before, amount, maximum))
            return messages.exceeds_maximum(resource, flavor, *texts)
        missing = before + amount - node.available(cell)
        return messages.more_needed(resource, flavor, self._amount(resource, missing))
