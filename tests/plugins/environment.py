"""The environment of the suite, set before Django reads its settings. What a person sets by hand wins."""

import os
from collections.abc import Mapping

from hypothesis import HealthCheck, settings

DEFAULTS = {
    "DJANGO_SETTINGS_MODULE": "portal.settings",
    "TURNO_SECRET_KEY": "the suite's own, long enough for every check and worth nothing anywhere",
    "TURNO_DATABASE_URL": "sqlite:///:memory:",
    "TURNO_LOG_LEVEL": "WARNING",
}


def without_defaults(environment: Mapping[str, str]) -> dict[str, str]:
    """What a person has set: for processes that are to start as if no suite were around."""
    return {name: value for name, value in environment.items() if DEFAULTS.get(name) != value}


for name, value in DEFAULTS.items():
    os.environ.setdefault(name, value)

# The same examples in every run: a gate that fails must fail again. Deeper searches are made by hand.
# How long an example takes says how busy the machine is.
settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
