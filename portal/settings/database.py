"""TURNO_DATABASE_URL -> Django's DATABASES entry. SQLite for the first five minutes, PostgreSQL for production."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SQLITE_OPTIONS: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA cache_size=-16000;",
}


def database(address: str, *, pool_size: int) -> dict[str, Any]:
    """`sqlite:///relative`, `sqlite:////absolute`, `postgresql://user:password@host:port/name?sslmode=…`.

    PostgreSQL: pooled, no server-side cursors, no session state, so that pgbouncer in transaction mode will do.
    """
    parts = urlsplit(address)
    if parts.scheme == "sqlite":
        # The tests' database is a file, as the real one: in memory, threads would lock each other's tables.
        test = {"NAME": str(Path(tempfile.gettempdir()) / f"turno-test-{os.getpid()}.sqlite3")}
        engine = "portal.kernel.sqlite"
        return {"ENGINE": engine, "NAME": parts.path[1:], "OPTIONS": dict(SQLITE_OPTIONS), "TEST": test}
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured("TURNO_DATABASE_URL must start with sqlite: or postgresql:")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    options.setdefault("connect_timeout", "5")
    options["prepare_threshold"] = None
    if pool_size:
        options["pool"] = {"min_size": 1, "max_size": pool_size, "timeout": 5}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path[1:]),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
