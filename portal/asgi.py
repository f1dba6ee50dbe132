"""The one web server: pages, API, long polls, streams and static files."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

_django = get_asgi_application()

from portal.shell.overload import with_a_limit  # noqa: E402  needs the settings that were just set up
from portal.shell.static_files import with_static_files  # noqa: E402

application = with_a_limit(with_static_files(_django))
