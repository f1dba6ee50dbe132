"""The base of every REST view."""

from __future__ import annotations

from rest_framework.views import APIView


class RestView(APIView):
    """Without OPTIONS: DRF would answer it to anybody logged in, object or not; the OpenAPI document says the same."""

    http_method_names = ("get", "head", "post", "put", "patch", "delete")
