"""A preview in plain words: one sentence with its numbers, who is concerned, and other ways to ask that start now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.kernel import clock

MOST_NAMED = 3
NEAR = timedelta(minutes=15)
INSTEAD = "instead"
# What a proposed change may fill in, with the words of the form's labels.
CHANGEABLE = {
    "flavor": gettext_lazy("Card"),
    "gpus": gettext_lazy("GPUs per node"),
    "nodes": gettext_lazy("Nodes"),
    "priority": gettext_lazy("Priority"),
}
LOOKS = {
    "starts_now": ("circle-check", "success"),
    "borrows": ("info-circle", "info"),
    "waits": ("hourglass", "warning"),
    "preempts": ("alert-triangle", "warning"),
    "never": ("circle-x", "error"),
}


@dataclass(frozen=True)
class Choice:
    """One click: `value` is what the button sends, the form is then filled with it."""

    label: str
    value: str
    borrows: bool


@dataclass(frozen=True)
class Outlook:
    """What the check shows. `look` is the notice's class; `more` completes the sentence, or is empty."""

    verdict: str
    icon: str
    look: str
    sentence: str
    more: str
    choices: tuple[Choice, ...]
    as_of: Any
    forecast: Mapping[str, Any] | None
    precision: str


def outlook(preview: Mapping[str, Any]) -> Outlook:
    """The preview of a dry run (api.md's shape) for a reader."""
    verdict = preview["verdict"]
    icon, look = LOOKS[verdict]
    sentence, more = _SENTENCES[verdict](preview)
    if preview.get("note") and verdict == "preempts":
        more = preview["note"]["message"]
    elif preview.get("note"):
        icon, look = LOOKS["waits"]
        sentence, more = preview["note"]["message"], _("It would be admitted, and then wait for a node with room.")
    choices = tuple(choice(one) for one in preview["alternatives"])
    return Outlook(
        verdict, icon, look, sentence, more, choices, preview["as_of"], preview.get("forecast"), precision(preview)
    )


def precision(told: Mapping[str, Any] | None) -> str:
    """How exactly the times of a likely start are written: to the second where it is near."""
    start = (told or {}).get("likely_start")
    return "seconds" if start and start["p90"] - clock.now() < NEAR else "minutes"


def choice(alternative: Mapping[str, Any]) -> Choice:
    """`{"change": {"gpus": 1}}` -> "GPUs per node: 1"."""
    change = alternative["change"]
    words = [f"{CHANGEABLE[name]}: {value}" for name, value in change.items() if name in CHANGEABLE]
    return Choice(", ".join(words), json.dumps(change), alternative.get("verdict") == "borrows")


def filled(posted: QueryDict) -> QueryDict:
    """What was typed, with the change that was clicked; what is no change of ours fills nothing in."""
    values = posted.copy()
    (asked,) = values.pop(INSTEAD)[-1:]
    try:
        change = json.loads(str(asked) or "{}")
    except ValueError:
        return values
    for name, value in change.items() if isinstance(change, dict) else ():
        if name in CHANGEABLE and isinstance(value, str | int):
            values[name] = str(value)
    return values


def _starts(preview: Mapping[str, Any]) -> tuple[str, str]:
    free, flavor = preview.get("available"), preview.get("flavor")
    if not free:
        return _("It starts now."), ""
    return _("It starts now. Free for your team: %(n)s of %(flavor)s.") % {"n": free, "flavor": flavor}, ""


def _waits(preview: Mapping[str, Any]) -> tuple[str, str]:
    place, ahead = preview["position"], preview.get("ahead") or ()
    told = _("It waits, as number %(n)s in your team's queue.") % {"n": place} if place else _("It waits in the queue.")
    return told, _("Before it: %(who)s.") % {"who": people(ahead)} if ahead else ""


def _borrows(preview: Mapping[str, Any]) -> tuple[str, str]:
    told = _("It starts now with GPUs of other teams: %(who)s.") % {"who": people(preview["borrows"])}
    return told, _("They can be taken back, and then it waits again.")


def _preempts(preview: Mapping[str, Any]) -> tuple[str, str]:
    told = _("It starts by taking the place of other work: %(who)s.") % {"who": people(preview["preempts"])}
    return told, _("That work waits in the queue again.")


def _never(preview: Mapping[str, Any]) -> tuple[str, str]:
    return _("It can never run: %(why)s") % {"why": preview["limit"]["message"]}, ""


_SENTENCES = {
    "starts_now": _starts,
    "waits": _waits,
    "borrows": _borrows,
    "preempts": _preempts,
    "never": _never,
}


def people(found: Sequence[Mapping[str, Any]]) -> str:
    """Team, size and priority of the first few, equal ones once with their number, and how many more."""
    counts = Counter(_one(each) for each in found)
    first = dict(islice(counts.items(), MOST_NAMED))
    named = [f"{n} × {told}" if n > 1 else told for told, n in first.items()]
    if len(counts) > MOST_NAMED:
        named.append(_("%(n)s more") % {"n": len(found) - sum(first.values())})
    return "; ".join(named)


def _one(each: Mapping[str, Any]) -> str:
    told = _("%(team)s with %(gpus)s GPU") % {"team": each["team"], "gpus": each["gpus"]}
    return told if "priority" not in each else _("%(who)s, priority %(n)s") % {"who": told, "n": each["priority"]}
