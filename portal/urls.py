"""All routes. Wiring only."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

from portal.shell import docs, health, metrics

api: list[URLPattern | URLResolver] = [
    path("", include("tenants.api.urls")),
    path("", include("quotas.api.urls")),
    path("", include("jobs.api.urls")),
    path("schema/", docs.schema),
    path("docs/", docs.docs),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.view),
    path("api/v1/", include(api)),
    # One door for everybody: the tries of Django's own sign-in page would not be counted.
    path("admin/login/", RedirectView.as_view(url="/login/", query_string=True)),
    path("admin/", admin.site.urls),
    path("", include("portal.shell.page_urls")),
    path("", include("tenants.web.urls")),
    path("", include("jobs.web.urls")),
]

handler400 = "portal.shell.errors.bad_request"
handler403 = "portal.shell.errors.permission_denied"
handler404 = "portal.shell.errors.not_found"
handler500 = "portal.shell.errors.server_error"
