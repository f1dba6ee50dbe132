"""What admission would say of a request: the answer of the dry run, and of one that can never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jobs import selectors
from jobs.services.judging import Request, judged
from portal.cluster import selectors as mirror
from portal.kernel.actors import Actor
from portal.kernel.errors import FieldError, Invalid
from quotas import selectors as quotas

if TYPE_CHECKING:
    from quotas.models import Flavor


def foreseen(actor: Actor, asked: Request, flavor: Flavor) -> dict[str, Any] | None:
    """The `preview` of a judged request; None while the mirror knows nothing."""
    return selectors.preview(actor, asked.tenant, flavor, asked.spec, manager=asked.context.is_manager)


def never(actor: Actor, kind: str, fault: FieldError, data: Mapping[str, Any]) -> dict[str, Any]:
    """Asks for more than the team can ever have: the limit, and the most that it could ask for instead."""
    smaller = _smaller(actor, kind, data)
    flavor = quotas.flavor(str(data.get("flavor", "")))
    return {
        "verdict": "never",
        "position": None,
        "ahead": [],
        "flavor": data.get("flavor"),
        "available": None,
        "borrows": [],
        "preempts": [],
        "limit": {
            "flavor": data.get("flavor"),
            "resource": flavor.resource if flavor and fault.field == "gpus" else fault.field,
            "gpus": fault.most,
            "message": fault.message,
        },
        "note": None,
        "alternatives": smaller,
        "likely_start": None,
        "forecast": None,
        "as_of": mirror.as_of(flavor.cluster_id, "Workload") if flavor else None,
    }


def _smaller(actor: Actor, kind: str, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The largest number of units of the same flavor that would start now."""
    flavor, gpus = quotas.flavor(str(data.get("flavor", ""))), data.get("gpus")
    if flavor is None or not isinstance(gpus, int):
        return []
    for units in sorted({u for u in (flavor.max_per_node, flavor.max_per_node // 2, 1) if 0 < u < gpus}, reverse=True):
        try:
            asked = judged(actor, kind=kind, data={**data, "gpus": units})
        except Invalid:
            continue
        answer = foreseen(actor, asked, flavor)
        if answer is not None and answer["verdict"] in ("starts_now", "borrows"):
            return [{"change": {"gpus": units}, "verdict": answer["verdict"]}]
    return []
