"""Pages of the tenants room."""

from __future__ import annotations

from django.urls import path

from tenants.web import people, session

urlpatterns = [
    path("login/", session.login),
    path("logout/", session.logout),
    path("password/", session.password),
    path("tokens/", people.tokens),
    path("tokens/<uuid:token_id>/revoke/", people.revoke_token),
    path("teams/<slug:slug>/members/", people.change_members),
]
