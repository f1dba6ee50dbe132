"""The environment of the suite, set before Django reads its settings. What a person sets by hand wins."""

import os

DEFAULTS = {
    "DJANGO_SETTINGS_MODULE": "portal.settings",
    "TURNO_SECRET_KEY": "the suite's own, long enough for every check and worth nothing anywhere",
    "TURNO_DATABASE_URL": "sqlite:///:memory:",
    "TURNO_LOG_LEVEL": "WARNING",
}

for name, value in DEFAULTS.items():
    os.environ.setdefault(name, value)
