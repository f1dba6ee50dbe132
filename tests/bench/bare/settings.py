"""The least that Django and DRF need, on the very database that TURNO_DATABASE_URL names."""

import os

from portal.settings.database import database

SECRET_KEY = "of a server that lives for one benchmark"
ALLOWED_HOSTS = ["127.0.0.1"]
INSTALLED_APPS = ["rest_framework", "tests.bench.bare.apps.BareConfig"]
DATABASES = {"default": database(os.environ["TURNO_DATABASE_URL"], pool_size=8)}
ROOT_URLCONF = "tests.bench.bare.site"
USE_TZ = True
TIME_ZONE = "UTC"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}
