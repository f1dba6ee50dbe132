"""The bare site's two views: POST /things/ inserts, GET /things/ lists."""

from typing import ClassVar

from django.urls import path
from rest_framework import generics, serializers
from rest_framework.pagination import CursorPagination

from tests.bench.bare.models import Thing


class ThingSerializer(serializers.ModelSerializer[Thing]):
    class Meta:
        model = Thing
        fields: ClassVar = ["id", "team", "name", "created_at"]


class Newest(CursorPagination):
    page_size = 50
    ordering = "-id"


class Things(generics.ListCreateAPIView[Thing]):
    serializer_class = ThingSerializer
    pagination_class = Newest
    queryset = Thing._default_manager.filter(team="data")


urlpatterns = [path("things/", Things.as_view())]
