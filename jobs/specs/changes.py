"""A PATCH: the request merged over what the workload has, and judged as a whole again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.specs.context import SpecContext
from jobs.specs.kinds import judge
from jobs.specs.model import Spec, make, to_json
from jobs.states import gettext_noop as _
from portal.kernel.errors import FieldError, Invalid

# While it lives; everything else only when it is stopped or final.
CHANGEABLE_LIVE: Mapping[str, frozenset[str]] = {
    "notebook": frozenset({"labels", "description", "idle_timeout", "max_duration"}),
    "training": frozenset({"labels", "description", "priority"}),
    "endpoint": frozenset({"labels", "description", "min_replicas", "max_replicas", "max_duration"}),
}
NEVER = ("name", "tenant")


def parse_change(
    kind: str, current: Spec, data: Mapping[str, Any], context: SpecContext, *, live: bool
) -> tuple[Spec, frozenset[str]]:
    """The changed spec and the names of the fields that really differ. Raises Invalid.

    `name`, `tenant` and a notebook's `storage` do not change: the objects and the data are found by them. While it is
    live only what the request names is judged: a policy that became narrower stops nobody.
    """
    before = to_json(current)
    _refuse_fixed(kind, data, context)
    merged = {**_as_request(before), **data}
    touched = set(data)
    if kind == "endpoint" and "min_replicas" in data and "max_replicas" not in data:
        merged["max_replicas"] = data["min_replicas"]
        touched.add("max_replicas")
    values, faults = judge(kind, merged, context)
    told = [fault for fault in faults if not live or _concerns(fault, touched)]
    if told:
        raise Invalid(told)
    after = make(kind, {name: value if name in touched else getattr(current, name) for name, value in values.items()})
    changed = to_json(after)
    return after, frozenset(name for name in changed if before[name] != changed[name])


def _concerns(fault: FieldError, touched: set[str]) -> bool:
    """More replicas ask for more of the flavor, whatever field the refusal is at."""
    grows = fault.code == "exceeds_maximum" and "min_replicas" in touched
    return grows or fault.field.partition(".")[0] in touched


def _refuse_fixed(kind: str, data: Mapping[str, Any], context: SpecContext) -> None:
    fixed = (*NEVER, "storage") if kind == "notebook" else NEVER
    message = context.say(_("This does not change after creation."))
    faults = [FieldError(field, "not_allowed", message) for field in fixed if field in data]
    if faults:
        raise Invalid(faults)


def _as_request(before: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, without the places that stand for "not asked"."""
    return {name: value for name, value in before.items() if value is not None}
