"""Routes of the tenants room below `/api/v1/`."""

from django.urls import path

from tenants.api import views

urlpatterns = [
    path("me/", views.MeView.as_view()),
    path("tenants/", views.TenantsView.as_view()),
    path("tenants/<str:slug>/", views.TenantView.as_view()),
    path("tenants/<str:slug>/members/", views.MembersView.as_view()),
    path("tenants/<str:slug>/members/<str:username>/", views.MemberView.as_view()),
    path("tokens/", views.TokensView.as_view()),
    path("tokens/<uuid:id>/", views.TokenView.as_view()),
    path("audit/", views.AuditView.as_view()),
]
