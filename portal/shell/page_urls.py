"""Pages that span rooms."""

from __future__ import annotations

from django.urls import path

from portal.shell import pages

urlpatterns = [
    path("", pages.home),
    path("home/live/", pages.home_live),
    path("teams/<slug:slug>/", pages.team),
    path("preferences/", pages.preferences),
]
