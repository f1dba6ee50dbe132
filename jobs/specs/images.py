"""Image references: one parser, so that what is checked is what is pulled. `[host[:port]/]path[:tag][@digest]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 400
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Reference:
    """The parts, each byte for byte as typed. `host` holds the port."""

    host: str
    path: str
    tag: str = ""
    digest: str = ""


class BadReference(ValueError):
    """`part` says which: length, characters, registry, port, path, tag, digest."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


def is_reference(text: str) -> bool:
    """With `/`, `:` or `@` it is a reference, else a name of the catalogue."""
    return any(mark in text for mark in "/:@")


def parse(text: str) -> Reference:
    """A reference that names its registry; nothing ever falls through to a public one. Raises BadReference."""
    if len(text) > LONGEST:
        raise BadReference("length")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise BadReference("characters")
    rest, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise BadReference("digest" if digest.startswith("sha256") else "registry")
    host, slash, path = rest.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        raise BadReference("registry")
    _check_host(host)
    path, colon, tag = path.partition(":")
    if colon and not _TAG.fullmatch(tag):
        raise BadReference("tag")
    if not path or not all(_PART.fullmatch(part) for part in path.split("/")):
        raise BadReference("path")
    return Reference(host, path, tag, digest)


def _check_host(host: str) -> None:
    name, colon, port = host.partition(":")
    if not _HOST.fullmatch(name):
        raise BadReference("registry")
    if colon and not (port.isdigit() and port.isascii() and len(port) < 6 and 0 < int(port) < 65536):
        raise BadReference("port")
