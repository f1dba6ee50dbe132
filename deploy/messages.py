"""Translations: `python -m deploy.messages update` collects every sentence, `check` says what is missing.

Sentences come from the rooms' Python and from the templates. English is the source; Spanish is in locale/es, its
compiled catalogue is committed so that running Turno needs no tool.
"""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("portal", "tenants", "quotas", "jobs")
CATALOGUE = ROOT / "locale" / "es" / "LC_MESSAGES" / "django.po"
KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), None),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
# What Django's own preparation of a template for xgettext holds: gettext('...') and its relatives.
STRING = r"""u?('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
CALL = re.compile(rf"\b(?P<name>_|n?p?gettext)\((?P<arguments>(?:\s*{STRING}\s*,?)+)")
TEXT = re.compile(STRING)

Identity = tuple[str | None, str | tuple[str, ...] | list[str]]


def sentences() -> Iterator[Identity]:
    """(context, sentence) of every sentence in the code and the templates; a plural pair stands as a tuple."""
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*.py")):
            for _line, message, _comments, context in extract_from_file("python", file, keywords=KEYWORDS):
                yield context, message
    for file in sorted((ROOT / "templates").rglob("*.*")):
        if file.suffix in {".html", ".txt"}:
            yield from of_template(file.read_text(encoding="utf-8"), str(file))


def of_template(source: str, name: str) -> Iterator[Identity]:
    """The sentences of one Django template."""
    for call in CALL.finditer(templatize(source, origin=name)):
        texts = [unquoted(text) for text in TEXT.findall(call["arguments"])]
        context = texts.pop(0) if "p" in call["name"] else None
        yield context, (texts[0], texts[1]) if call["name"].startswith("n") else texts[0]


def unquoted(literal: str) -> str:
    """The value of a Python string literal as templatize writes it: only quotes, backslashes and line ends escaped."""
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), literal[1:-1])


def collected() -> Catalog:
    template = Catalog(charset="utf-8")
    for context, sentence in sentences():
        template.add(sentence, context=context)
    return template


def kept() -> Catalog:
    """The committed Spanish catalogue; an empty one where there is none."""
    if not CATALOGUE.exists():
        return Catalog(locale="es", project="Turno", charset="utf-8", fuzzy=False)
    with CATALOGUE.open("rb") as file:
        return read_po(file, locale="es")


def compiled(catalogue: Catalog) -> bytes:
    output = io.BytesIO()
    write_mo(output, catalogue)
    return output.getvalue()


def write(catalogue: Catalog, file: IO[bytes]) -> None:
    write_po(file, catalogue, width=120, no_location=True, sort_output=True, ignore_obsolete=True, omit_header=False)


def update() -> list[str]:
    """Brings the catalogue in line with the code and compiles it; returns what still has to be translated."""
    template, catalogue = collected(), kept()
    template.creation_date = catalogue.creation_date
    catalogue.update(template, no_fuzzy_matching=True)
    CATALOGUE.parent.mkdir(parents=True, exist_ok=True)
    with CATALOGUE.open("wb") as file:
        write(catalogue, file)
    CATALOGUE.with_suffix(".mo").write_bytes(compiled(catalogue))
    return faults()


def faults() -> list[str]:
    """What is wrong with the catalogue, a line each; empty when both languages are complete."""
    catalogue = kept()
    known = {identity(message) for message in catalogue if message.id}
    needed = {identity(message) for message in collected() if message.id}
    found = [f"not in the catalogue: {sentence!r}" for _context, sentence in sorted(needed - known, key=str)]
    found += [f"no longer in the code: {sentence!r}" for _context, sentence in sorted(known - needed, key=str)]
    found += [f"not translated: {message.id!r}" for message in catalogue if message.id and not translated(message)]
    found += [f"wrong: {message.id!r}: {error}" for message, errors in catalogue.check() for error in errors]
    machine = CATALOGUE.with_suffix(".mo")
    if not machine.exists() or machine.read_bytes() != compiled(catalogue):
        found.append(f"{machine.name} is not what {CATALOGUE.name} says")
    return found


def identity(message: Message) -> Identity:
    return message.context, message.id


def translated(message: Message) -> bool:
    texts = message.string if isinstance(message.string, tuple) else (message.string,)
    return not message.fuzzy and all(texts)


def main(arguments: list[str]) -> int:
    if arguments not in (["update"], ["check"]):
        sys.exit("usage: python -m deploy.messages update|check")
    settings.configure(USE_I18N=True)
    found = update() if arguments == ["update"] else faults()
    for line in found:
        print(line)
    if found:
        print("after translating in locale/es/LC_MESSAGES/django.po: make messages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
