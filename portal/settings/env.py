"""Typed readers of the environment. A bad value stops the process with its name; secrets may come from files."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def text(name: str, default: str | None = None) -> str:
    """`name`, or the stripped content of the file named by `name_FILE`; required where `default` is None."""
    path = os.environ.get(f"{name}_FILE")
    if path:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE: cannot read {path}: {error.strerror}") from error
    value = os.environ.get(name, default)
    if value is None:
        raise ImproperlyConfigured(f"{name} is not set (or {name}_FILE)")
    return value


def boolean(name: str, *, default: bool) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    raise ImproperlyConfigured(f"{name}={value!r} is not a boolean (use 1 or 0)")


def integer(name: str, *, default: int, least: int = 0) -> int:
    value = os.environ.get(name, str(default))
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number of at least {least}")
    return int(value)


def words(name: str, default: str = "") -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def pairs(name: str, default: str = "") -> dict[str, str]:
    """`key=value,key=value`."""
    found: dict[str, str] = {}
    for word in words(name, default):
        key, separator, value = word.partition("=")
        if not separator or not key or not value:
            raise ImproperlyConfigured(f"{name}: {word!r} is not key=value")
        found[key] = value
    return found


def url(name: str, default: str | None, *, schemes: tuple[str, ...]) -> str:
    value = text(name, default)
    if urlsplit(value).scheme not in schemes:
        raise ImproperlyConfigured(f"{name}: the address must start with one of {', '.join(schemes)}")
    return value
