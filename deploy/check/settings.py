"""The portal's settings with a throw-away secret, for tools that load Django to look at the code."""

import os

os.environ.setdefault("TURNO_SECRET_KEY", "for tools that only read the code")

from portal.settings import *  # noqa: F403
