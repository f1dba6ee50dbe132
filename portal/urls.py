"""All routes. Wiring only."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from drf_spectacular.views import SpectacularAPIView

from portal.shell import health

api = [
    path("", include("tenants.api.urls")),
    path("", include("quotas.api.urls")),
    path("", include("jobs.api.urls")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("api/v1/", include(api)),
    path("admin/", admin.site.urls),
]

handler400 = "portal.shell.errors.bad_request"
handler403 = "portal.shell.errors.permission_denied"
handler404 = "portal.shell.errors.not_found"
handler500 = "portal.shell.errors.server_error"
