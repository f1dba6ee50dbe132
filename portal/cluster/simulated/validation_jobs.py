"""What may change in a batch Job: little, and the template only while it is suspended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from portal.cluster.simulated.errors import Cause
from portal.cluster.simulated.objects import Obj, copy

_WHILE_SUSPENDED = ("nodeSelector", "tolerations", "schedulingGates", "affinity")


def job_changes(old: Obj, new: Obj) -> Iterator[Cause]:
    """The faults of an update, in the order and with the doubled ones of the real server."""
    before, after = old["spec"], new["spec"]
    selector, template = after.get("selector"), after.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector != before.get("selector") and not after.get("manualSelector"):
        yield _cause("spec.selector", selector, "`selector` not auto-generated")
        if not ((selector or {}).get("matchLabels") or {}).items() <= labels.items():
            mismatch = _cause("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
            yield mismatch
            yield mismatch
    if after.get("completions") != before.get("completions") and not _elastic(before, after):
        yield _cause("spec.completions", after.get("completions"), "field is immutable")
    for field in ("selector", "completionMode"):
        if after.get(field) != before.get(field):
            yield _cause(f"spec.{field}", after.get(field), "field is immutable")
    if _fixed(template, before) != _fixed(before["template"], before):
        yield _cause("spec.template", template, "field is immutable")


def _elastic(before: Obj, after: Obj) -> bool:
    """An indexed Job may be resized when completions and parallelism move together."""
    return (
        after.get("completionMode") == "Indexed"
        and after.get("completions") == after.get("parallelism")
        and bool(before.get("completions"))
    )


def _fixed(template: Obj, before: Obj) -> Obj:
    """The part of the template that may not change now."""
    if not before.get("suspend"):
        return template
    fixed = copy(template)
    fixed.pop("metadata", None)
    for name in _WHILE_SUSPENDED:
        fixed["spec"].pop(name, None)
    return fixed


def _cause(field: str, value: Any, text: str) -> Cause:
    shown = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return Cause("FieldValueInvalid", f"Invalid value: {shown}: {text}", field)
