"""All settings, from the environment (README lists the variables). Nothing exists only in production."""

from __future__ import annotations

from pathlib import Path

from portal.settings import env
from portal.settings.database import database
from portal.settings.logs import configure as configure_logs

BASE_DIR = Path(__file__).resolve().parent.parent.parent

DEMO = env.boolean("TURNO_DEMO", default=False)
DEMO_FOLDER = Path(env.text("TURNO_DEMO_FOLDER", str(BASE_DIR / "var" / "demo")))
DEMO_CLUSTER_URL = env.url("TURNO_DEMO_CLUSTER_URL", "http://127.0.0.1:8001", schemes=("http", "https"))
DEMO_DATA_URL = env.url("TURNO_DEMO_DATA_URL", "http://127.0.0.1:8002", schemes=("http",))
SECRET_KEY = env.text("TURNO_SECRET_KEY")
SECRET_KEY_FALLBACKS = env.words("TURNO_SECRET_KEY_FALLBACKS")
DEBUG = False
ALLOWED_HOSTS = env.words("TURNO_ALLOWED_HOSTS", "127.0.0.1,localhost")
PUBLIC_URL = env.url("TURNO_PUBLIC_URL", "http://127.0.0.1:8000", schemes=("http", "https"))
HTTPS = PUBLIC_URL.startswith("https:")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# Server keys of derived notebook and endpoint tokens: id=secret; the first signs, the others still verify.
TOKEN_KEYS = env.pairs("TURNO_TOKEN_KEYS", f"k1={SECRET_KEY}".replace(",", "."))
# How a cluster row's `connection` is reached: name=kubeconfig path, `in-cluster`, or an http address. Never in web.
CLUSTER_CONNECTIONS = env.pairs("TURNO_CLUSTER_CONNECTIONS")
# What `manage.py first_cluster` makes of the cluster that is there from the first migration.
FIRST_CLUSTER = env.pairs("TURNO_CLUSTER")

DATABASES = {
    "default": database(
        env.text("TURNO_DATABASE_URL", f"sqlite:///{BASE_DIR}/var/turno.sqlite3"),
        pool_size=env.integer("TURNO_DATABASE_POOL", default=8),
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "csp",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "drf_spectacular",
    "portal.kernel",
    "portal.cluster",
    "portal.telemetry",
    "portal.audit",
    "tenants",
    "quotas",
    "jobs",
    "portal.shell",
]
AUTH_USER_MODEL = "tenants.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"

# All async-capable: a sync-only one would hold a thread for a whole long poll. `inline`: Django's own.
MIDDLEWARE = [
    "portal.shell.inline.Security",
    "portal.shell.requests.RequestContextMiddleware",
    "portal.shell.inline.ContentSecurityPolicy",
    "portal.shell.inline.Sessions",
    "portal.shell.inline.Locale",
    "portal.shell.inline.Common",
    "portal.shell.inline.Csrf",
    "portal.shell.inline.Authentication",
    "portal.shell.authentication.ActorMiddleware",
    "portal.shell.preferences.ZoneMiddleware",
    "portal.shell.inline.Messages",
    "portal.shell.inline.FrameOptions",
    "django_htmx.middleware.HtmxMiddleware",
    "portal.shell.page_errors.PageErrorMiddleware",
    "portal.shell.errors.ProblemMiddleware",
]
ROOT_URLCONF = "portal.urls"
ASGI_APPLICATION = "portal.asgi.application"
APPEND_SLASH = False
CSRF_FAILURE_VIEW = "portal.shell.errors.csrf_failure"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.shell.context.page",
            ]
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
STATIC_ROOT = env.text("TURNO_STATIC_ROOT", str(BASE_DIR / "var" / "static"))

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
if HTTPS:
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if env.boolean("TURNO_BEHIND_PROXY", default=False) else None
)
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
        "object-src": ["'none'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["portal.rest.access.ActorAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["portal.rest.access.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["portal.rest.parsing.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "portal.rest.schema.TurnoSchema",
    "EXCEPTION_HANDLER": "portal.shell.problems.drf_handler",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "portal.rest.parsing.AlwaysJSON",
    "DEFAULT_VERSIONING_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Turno",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": [],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "portal.rest.schema.document_problems",
    ],
}

BROKER_URL = env.text("TURNO_BROKER_URL", "")
CELERY_BROKER_URL = BROKER_URL or "memory://"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 120
CELERY_TASK_SOFT_TIME_LIMIT = 100
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_DB_REUSE_MAX = 10_000  # tasks on one database connection; `portal.celery` looks at it before each
# The work table brings back what a lost message was about: nothing is acknowledged late, kept or restored, and a worker
# whose broker goes away has nothing to put back (kombu cannot, and ends the worker when it tries).
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "ack_emulation": False,
    "socket_connect_timeout": 0.2,
    "socket_timeout": 0.2,
    "retry_on_timeout": False,
    "max_retries": 0,
}
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "kernel.sweep", "schedule": 2.0, "options": {"expires": 2}},
    "housekeeping": {"task": "kernel.housekeeping", "schedule": 60.0, "options": {"expires": 60}},
    "policies": {"task": "jobs.enforce_deadlines", "schedule": 5.0, "options": {"expires": 5}},
    "forecasts": {"task": "jobs.forecast", "schedule": 5.0, "options": {"expires": 5}},
    "calibration": {"task": "quotas.calibrate", "schedule": 60.0, "options": {"expires": 60}},
    "disagreements": {"task": "quotas.compare", "schedule": 15.0, "options": {"expires": 15}},
    "orphans": {"task": "jobs.find_orphans", "schedule": 10.0, "options": {"expires": 10}},
}
CELERY_BEAT_SCHEDULE_FILENAME = env.text("TURNO_BEAT_FILE", str(BASE_DIR / "var" / "beat" / "schedule"))

METRICS_TOKEN = env.text("TURNO_METRICS_TOKEN", "")
RATE_LIMITS = env.boolean("TURNO_RATE_LIMITS", default=not DEMO)
LOG_LEVEL = env.text("TURNO_LOG_LEVEL", "INFO").upper()
LOGGING_CONFIG = None
configure_logs(level=LOG_LEVEL, json_lines=env.boolean("TURNO_LOG_JSON", default=True))

TEST_RUNNER = "django.test.runner.DiscoverRunner"
SILENCED_SYSTEM_CHECKS = [
    "security.W008",  # the proxy in front redirects to https
    # These look for Django's own names in MIDDLEWARE: `portal.shell.inline` has their subclasses.
    "security.W001",
    "security.W002",
    "security.W003",
]
