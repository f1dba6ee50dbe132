"""What the pages need beyond Django's own tags: icons, times with their zone, spans, meters, numbers for machines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from portal.kernel import clock

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86400


@register.simple_tag
def icon(name: str) -> SafeString:
    """One shape of `static/icons.svg`; always beside words, so readers skip it."""
    return format_html(
        '<svg class="icon" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>', static("icons.svg"), name
    )


@register.filter
def moment(value: datetime | None) -> SafeString | str:
    """A time in the reader's zone with the zone's name, so that a repeated hour is told apart; machines read UTC."""
    if value is None:
        return "–"
    local = timezone.localtime(value)
    form = "j M H:i" if local.year == timezone.localtime(clock.now()).year else "j M Y H:i"
    return format_html('<time datetime="{}">{} {}</time>', stamp(value), date_format(local, form), local.tzname())


@register.filter
def stamp(value: datetime) -> str:
    """RFC 3339 in UTC with Z, whole seconds: for attributes and machines."""
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def span(seconds: float | None) -> str:
    """A length of time in its two largest units ("3 d 18 h"); never negative."""
    if seconds is None:
        return "–"
    left = max(0, int(seconds))
    if left < MINUTE:
        return gettext("%(n)d s") % {"n": left}
    if left < HOUR:
        return gettext("%(n)d min") % {"n": left // MINUTE}
    if left < DAY:
        hours, minutes = left // HOUR, left % HOUR // MINUTE
        return gettext("%(h)d h %(m)d min") % {"h": hours, "m": minutes} if minutes else gettext("%(h)d h") % {"h": hours}
    days, hours = left // DAY, left % DAY // HOUR
    return gettext("%(d)d d %(h)d h") % {"d": days, "h": hours} if hours else gettext("%(d)d d") % {"d": days}


@register.filter
def age(value: datetime | None) -> str:
    """How long ago, by the server's clock; a cluster whose clock runs ahead gives 0 s, never less."""
    return span((clock.now() - value).total_seconds()) if value else "–"


@register.simple_tag
def lasted(start: datetime | None, end: datetime | None = None) -> str:
    """From start to end, or to now while there is no end."""
    if start is None:
        return "–"
    return span(((end or clock.now()) - start).total_seconds())


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
