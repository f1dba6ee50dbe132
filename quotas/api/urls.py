"""Routes of the quotas room below `/api/v1/`."""

from django.urls import path

from quotas.api import views

urlpatterns = [
    path("flavors/", views.FlavorsView.as_view()),
    path("flavors/<str:name>/", views.FlavorView.as_view()),
    path("images/", views.ImagesView.as_view()),
    path("images/<str:name>/", views.ImageView.as_view()),
    path("tenants/<str:slug>/policy/", views.PolicyView.as_view()),
    path("tenants/<str:slug>/quota/", views.TenantQuotaView.as_view()),
]
