"""Both languages are complete, and the collector sees every way to write a sentence in a template."""

import pytest

from deploy.messages import faults, of_template


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("{% load i18n %}{% translate 'Stop' %}", (None, "Stop")),
        ('{% translate "It\'s here" as title %}', (None, "It's here")),
        ("{% translate 'May' context 'month' %}", ("month", "May")),
        ("{% blocktranslate %}Hello {{ name }}{% endblocktranslate %}", (None, "Hello %(name)s")),
        ("{% blocktranslate trimmed %}\n  one\n  two\n{% endblocktranslate %}", (None, "one two")),
        (
            "{% blocktranslate count n=n %}{{ n }} job{% plural %}{{ n }} jobs{% endblocktranslate %}",
            (None, ("%(n)s job", "%(n)s jobs")),
        ),
        ("<input value=\"{{ _('Save “it”') }}\">", (None, "Save “it”")),
    ],
)
def test_sentences_of_a_template(source: str, found: tuple[str | None, str]) -> None:
    assert list(of_template(source, "page.html")) == [found]


def test_a_template_without_sentences() -> None:
    assert list(of_template("<p>{{ gettext }} it's {# translate 'not' #}</p>", "page.html")) == []


def test_spanish_is_complete_and_compiled() -> None:
    assert faults() == []
