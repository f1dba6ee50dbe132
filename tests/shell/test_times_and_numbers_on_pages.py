"""Times carry their zone, spans are never negative, and what machines read is the same in every language."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template
from django.utils import timezone, translation

from portal.shell.templatetags import turno
from tests.conftest import FrozenClock


def shown(template: str, **values: object) -> str:
    return Template("{% load turno %}" + template).render(Context(values))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-90, "0 s"),
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (2400, "40 min"),
        (3600, "1 h"),
        (3660, "1 h 1 min"),
        (86400, "1 d"),
        (3 * 86400 + 18 * 3600 + 59, "3 d 18 h"),
    ],
)
def test_a_span_shows_its_two_largest_units(seconds: float, text: str) -> None:
    assert turno.span(seconds) == text.replace(" ", "\u00a0")


def test_a_time_is_shown_in_the_readers_zone_and_marked_up_in_utc(frozen: FrozenClock) -> None:
    with timezone.override(ZoneInfo("America/Mexico_City")), translation.override("en"):
        assert shown("{{ at|moment }}", at=datetime(2026, 12, 1, 9, tzinfo=UTC)) == (
            '<time datetime="2026-12-01T09:00:00Z">1 Dec 03:00 CST</time>'
        )


def test_the_repeated_hour_of_autumn_is_told_apart(frozen: FrozenClock) -> None:
    first, second = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    with timezone.override(ZoneInfo("Europe/Madrid")), translation.override("es"):
        assert "25 oct 02:30 CEST" in shown("{{ at|moment }}", at=first)
        assert "25 oct 02:30 CET" in shown("{{ at|moment }}", at=second)
    assert shown("{% lasted a b %}", a=first, b=datetime(2026, 10, 25, 1, 10, tzinfo=UTC)) == "40\u00a0min"


def test_another_year_is_named(frozen: FrozenClock) -> None:
    with timezone.override(UTC), translation.override("en"):
        assert "1 Dec 2025 09:00 UTC" in shown("{{ at|moment }}", at=datetime(2025, 12, 1, 9, tzinfo=UTC))


def test_an_api_text_is_read_like_a_row(frozen: FrozenClock) -> None:
    with timezone.override(UTC), translation.override("en"):
        assert "1 Dec 08:00 UTC" in shown("{{ at|moment }}", at="2026-12-01T08:00:00.000Z")


def test_a_time_inside_a_sentence_is_local_too(frozen: FrozenClock) -> None:
    with timezone.override(ZoneInfo("Europe/Madrid")), translation.override("en"):
        text = shown("{{ text|local_times }}", text="<b> since 2026-12-01T08:00:00Z; wait.")
    assert text == '&lt;b&gt; since <time datetime="2026-12-01T08:00:00Z">1 Dec 09:00 CET</time>; wait.'


def test_what_is_about_to_happen_is_told_without_the_date_of_today(frozen: FrozenClock) -> None:
    late = frozen().replace(hour=22, minute=30)
    with timezone.override(UTC), translation.override("en"):
        assert ">22:30 UTC</time>" in shown("{{ at|hour }}", at=late)
        assert f">{late.day + 1} " in shown("{{ at|hour }}", at=late + timedelta(hours=2))
        told = shown("{{ text|local_hours:'seconds' }}", text=f"Likely {late:%Y-%m-%dT%H:%M:%SZ}.")
        assert ">22:30:00 UTC</time>." in told
        assert shown("{{ at|hour }}", at=None) == "–"


def test_what_ended_before_it_started_lasted_nothing(frozen: FrozenClock) -> None:
    start = frozen()
    assert shown("{% lasted a b %}", a=start, b=start - timedelta(seconds=90)) == "0\u00a0s"
    assert turno.age(start + timedelta(minutes=10)) == "0\u00a0s"


@pytest.mark.parametrize("language", ["en", "es"])
def test_machine_places_are_the_same_in_every_language(language: str) -> None:
    with translation.override(language):
        assert shown("{{ n|machine }}", n=12345) == "12345"
        assert shown("{{ part|permille:whole }}", part=1.25, whole=10) == "125"
        assert shown("{% query q page=n %}", q={}, n=1234) == "?page=1234"
        assert 'width="125"' in shown('{% include "components/_meter.html" with held=1.25 whole=10 label="x" %}')


def test_a_bar_never_grows_past_its_frame() -> None:
    assert turno.permille(7, 2) == "1000"
    assert turno.permille(-1, 2) == "0"
    assert turno.permille(1, 0) == "0"


def test_a_state_is_told_by_icon_and_word() -> None:
    badge = shown('{% state "queued" %}')
    assert "#state-queued" in badge
    assert "In the queue" in badge
