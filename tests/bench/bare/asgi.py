"""The bare site's server; its settings are `tests.bench.bare.settings`."""

from django.core.asgi import get_asgi_application

application = get_asgi_application()
