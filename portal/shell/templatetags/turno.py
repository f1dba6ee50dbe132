"""What the pages need beyond Django's own tags: icons, times with their zone, spans, meters, numbers for machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from portal.gpus import CARDS
from portal.kernel import clock

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86400
STAMP = re.compile(r"(\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))")

STATES = {
    "submitted": _("Submitted"),
    "queued": pgettext_lazy("state", "In the queue"),
    "starting": _("Starting"),
    "running": _("Running"),
    "idle": pgettext_lazy("state", "Asleep"),
    "stopping": _("Stopping"),
    "stopped": _("Stopped"),
    "succeeded": _("Finished"),
    "failed": _("Failed"),
    "deleting": _("Deleting"),
    "deleted": _("Deleted"),
}
KINDS = {"notebook": _("Notebook"), "training": _("Training job"), "endpoint": _("Endpoint")}
ROLES = {
    "viewer": pgettext_lazy("role", "Viewer"),
    "member": pgettext_lazy("role", "Member"),
    "manager": pgettext_lazy("role", "Manager"),
}
MODES = {
    "whole": _("Whole card"),
    "mig": _("Slice of a card (MIG)"),
    "shared": _("Shared card, time-sliced"),
    "claim": _("Card by claim (DRA)"),
    "none": _("CPU only"),
}


@register.simple_tag
def icon(name: str) -> SafeString:
    """One shape of `static/icons.svg`; always beside words, so readers skip it."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        static("icons.svg"),
        name,
    )


@register.simple_tag
def state(name: str, *, large: bool = False) -> SafeString:
    """A state as a badge: icon and word, the colour only repeats them."""
    return format_html(
        '<span class="state state-{}{}">{}{}</span>',
        name,
        " state-large" if large else "",
        icon(f"state-{name}"),
        STATES.get(name, name),
    )


@register.filter
def kind_word(name: str) -> object:
    """`training` -> "Training job"."""
    return KINDS.get(name, name)


@register.filter
def state_word(name: str) -> object:
    """`queued` -> "In the queue"."""
    return STATES.get(name, name)


@register.filter
def role_word(name: str) -> object:
    """`manager` -> "Manager"."""
    return ROLES.get(name, name)


@register.filter
def mode_word(name: str) -> object:
    """`mig` -> "Slice of a card (MIG)"."""
    return MODES.get(name, name)


def when(value: datetime | str | None) -> datetime | None:
    """Rows hold datetimes, answers of the API hold RFC 3339 texts; pages show both alike."""
    return parse_datetime(value) if isinstance(value, str) else value


@register.filter
def moment(value: datetime | str | None, precision: str = "minutes") -> SafeString | str:
    """A time in the reader's zone with the zone's name, so that a repeated hour is told apart; machines read UTC.

    `precision`: "minutes", or "seconds" where things happen one after the other.
    """
    at = when(value)
    if at is None:
        return "–"
    this_year = timezone.localtime(at).year == timezone.localtime(clock.now()).year
    form = pgettext("date format", "j M H:i") if this_year else pgettext("date format", "j M Y H:i")
    return _written(at, form, precision)


@register.filter
def hour(value: datetime | str | None, precision: str = "minutes") -> SafeString | str:
    """As `moment`, without the date where that is today's: for what is about to happen."""
    at = when(value)
    today = at is not None and timezone.localdate(at) == timezone.localdate(clock.now())
    return _written(at, "H:i", precision) if at is not None and today else moment(at, precision)


def _written(at: datetime, form: str, precision: str) -> SafeString:
    local = timezone.localtime(at)
    form += ":s" if precision == "seconds" else ""
    return format_html('<time datetime="{}">{} {}</time>', stamp(at), date_format(local, form), local.tzname())


@register.filter
def local_times(text: str, precision: str = "minutes") -> SafeString:
    """Time stamps inside a sentence, as everywhere on pages: in the reader's zone, with its name."""
    return _with_times(text, lambda part: moment(part, precision))


@register.filter
def local_hours(text: str, precision: str = "minutes") -> SafeString:
    """As `local_times`, without the date where that is today's."""
    return _with_times(text, lambda part: hour(part, precision))


def _with_times(text: str, written: Callable[[str], SafeString | str]) -> SafeString:
    parts = STAMP.split(text)
    return format_html_join("", "{}", ((written(part) if place % 2 else part,) for place, part in enumerate(parts)))


@register.filter
def stamp(value: datetime) -> str:
    """RFC 3339 in UTC with Z, whole seconds: for attributes and machines."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def span(seconds: float | None) -> str:
    """A length of time in its two largest units ("3 d 18 h"); never negative, never broken over two lines."""
    return "–" if seconds is None else _in_words(max(0, int(seconds))).replace(" ", "\u00a0")


def _in_words(left: int) -> str:
    if left < MINUTE:
        return gettext("%(n)d s") % {"n": left}
    if left < HOUR:
        return gettext("%(n)d min") % {"n": left // MINUTE}
    if left < DAY:
        hours, minutes = left // HOUR, left % HOUR // MINUTE
        form = gettext("%(h)d h %(m)d min") if minutes else gettext("%(h)d h")
        return form % {"h": hours, "m": minutes}
    days, hours = left // DAY, left % DAY // HOUR
    form = gettext("%(d)d d %(h)d h") if hours else gettext("%(d)d d")
    return form % {"d": days, "h": hours}


@register.filter
def age(value: datetime | str | None) -> str:
    """How long ago, by the server's clock; a cluster whose clock runs ahead gives 0 s, never less."""
    at = when(value)
    return span((clock.now() - at).total_seconds()) if at else "–"


@register.simple_tag
def lasted(start: datetime | str | None, end: datetime | str | None = None) -> str:
    """From start to end, or to now while there is no end."""
    begun = when(start)
    if begun is None:
        return "–"
    return span(((when(end) or clock.now()) - begun).total_seconds())


@register.filter
def gib(mebibytes: int) -> str:
    """81559 -> "80 GiB": the size by which people know a card, not what its driver leaves."""
    return f"{round(mebibytes / 1024)} GiB"


@register.filter
def card_word(key: str) -> str:
    """`h100-80` -> "NVIDIA H100 80GB HBM3"; a card that the catalogue does not know keeps its key."""
    card = CARDS.get(key)
    return card.product.replace("-", " ") if card else key


@register.filter
def machine(value: object) -> str:
    """A number as machines read it: attributes, identifiers and examples are the same in every language."""
    return str(value)


@register.filter
def permille(part: float | None, whole: float | None) -> str:
    """Part of whole as an integer of 0 to 1000: widths inside SVG, where a decimal comma would break them."""
    if not part or not whole:
        return "0"
    return str(max(0, min(1000, round(1000 * part / whole))))


@register.filter
def get(mapping: Mapping[str, object], key: str) -> object:
    """`mapping[key]`, or an empty text."""
    return mapping.get(key, "")


@register.simple_tag
def query(parameters: Mapping[str, object], **changes: object) -> str:
    """`?…` of the given parameters with some changed; an empty value drops one."""
    kept = {name: value for name, value in {**parameters, **changes}.items() if value not in (None, "")}
    return "?" + urlencode({name: str(value) for name, value in kept.items()}, doseq=False)
