"""Asking again for what a workload asked for, with a change: the form filled in, and the buttons that lead there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from jobs.specs import Spec, to_json
from jobs.web.fields import OTHER_IMAGE, UNITS, Field
from jobs.web.forms import Form
from jobs.web.outlook import choice

LONGEST_NAME = 63


@dataclass(frozen=True)
class Button:
    """One change. `priority`: it can be changed where it waits; else `href` leads to the form with the change in it."""

    label: str
    priority: str = ""
    href: str = ""


def buttons(kind: str, workload_id: str, changes: Sequence[Mapping[str, Any]]) -> list[Button]:
    """One for each proposed change of a workload that waits."""
    found = []
    for change in changes:
        label = choice({"change": change}).label
        if kind == "training" and set(change) == {"priority"}:
            found.append(Button(label, priority=str(change["priority"])))
        else:
            query = urlencode({"like": workload_id, "instead": json.dumps(change)})
            found.append(Button(label, href=f"/new/{kind}/?{query}"))
    return found


def like(form: Form, spec: Spec, tenant: str, images: Sequence[str]) -> QueryDict:
    """What somebody would have typed to ask for this. `images`: the catalogue's names; the name gets a number, since
    the first one has it still."""
    values = to_json(spec)
    found = QueryDict(mutable=True)
    found["tenant"] = tenant
    for one in form.fields:
        _fill(found, one, values.get(one.name))
    if values.get("image") and values["image"] not in images:
        found["image"], found["image_other"] = OTHER_IMAGE, str(values["image"])
    found["name"] = f"{spec.name[: LONGEST_NAME - 2].rstrip('-')}-2"
    return found


def _fill(found: QueryDict, one: Field, value: Any) -> None:
    if value is None or value in ("", [], {}):
        return
    if one.widget == "rows":
        found.setlist(f"{one.name}_name", list(value))
        found.setlist(f"{one.name}_value", list(value.values()))
    elif one.widget == "words":
        found[one.name] = shlex.join(value)
    elif one.widget == "duration":
        unit = next((unit for unit, _ in reversed(UNITS) if value % unit == 0), UNITS[0][0])
        found[one.name], found[f"{one.name}_unit"] = f"{value / unit:g}", str(unit)
    else:
        found[one.name] = str(value)
