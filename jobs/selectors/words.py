"""Stored sentences in the reader's language: rows keep a msgid and its values, never a finished text."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import translation
from django.utils.translation import gettext

from jobs.states import ANOTHER_TEAM, RULES


def sentence(msgid: str, params: Mapping[str, object], language: str | None) -> str:
    """A stored msgid with its values, in this language (None: the active one). Missing values show as a dash."""
    if not msgid:
        return ""
    if language is not None and language != translation.get_language():
        with translation.override(language):
            return sentence(msgid, params, None)
    values = {name: _in_words(name, value) for name, value in params.items()}
    text = gettext(msgid)
    return text % _Known(values) if values or "%(" in text else text


def _in_words(name: str, value: object) -> object:
    """Rules, causes and "another team" are msgids themselves; names of people and pods are not."""
    if name in ("rule", "why") and isinstance(value, str):
        return rule(value)
    return gettext(ANOTHER_TEAM) if name == "by" and value == ANOTHER_TEAM else value


class _Known(dict[str, object]):
    """History written by an older version may lack a value that today's sentence has."""

    def __missing__(self, key: str) -> str:
        return "–"


def rule(name: str) -> str:
    """Kueue's rule of preemption in words; its own name where we have none."""
    return gettext(RULES[name]) if name in RULES else name


def taker(name: str) -> str:
    """Who took a place, as it was kept for the victim's team."""
    return gettext(ANOTHER_TEAM) if name in (ANOTHER_TEAM, "") else name
