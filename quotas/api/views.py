"""REST of the quotas room: one call deep, to a selector or a service."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from portal.rest.access import actor_of
from portal.rest.answers import paged, rows, stamp
from portal.rest.serializers import read
from portal.rest.views import RestView
from quotas import selectors, services
from quotas.api import bodies
from tenants import selectors as tenants
from tenants.api import answers as team_answers
from tenants.api import bodies as team_bodies


class FlavorsView(RestView):
    @extend_schema(responses=paged("Flavor", bodies.FlavorAnswer))
    def get(self, request: Request) -> Response:
        return Response(rows([flavor(view) for view in selectors.flavors(actor_of(request))]))


class FlavorView(RestView):
    @extend_schema(responses=bodies.FlavorAnswer)
    def get(self, request: Request, name: str) -> Response:
        return Response(flavor(selectors.flavor_view(actor_of(request), name)))


class ImagesView(RestView):
    @extend_schema(responses=paged("Image", bodies.ImageAnswer))
    def get(self, request: Request) -> Response:
        actor_of(request)
        return Response(rows([image(row) for row in selectors.images()]))


class ImageView(RestView):
    @extend_schema(responses=bodies.ImageAnswer)
    def get(self, request: Request, name: str) -> Response:
        actor_of(request)
        return Response(image(selectors.image(name)))


class PolicyView(RestView):
    @extend_schema(responses=team_bodies.PolicyAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(team_answers.policy(tenants.policy(actor_of(request), slug)))

    @extend_schema(request=team_bodies.PolicyChange, responses=team_bodies.PolicyAnswer)
    def patch(self, request: Request, slug: str) -> Response:
        actor = actor_of(request)
        tenants.tenant_to_manage(actor, slug)
        changes = read(team_bodies.PolicyChange, request.data)
        return Response(team_answers.policy(services.change_policy(actor, slug=slug, changes=changes)))


class TenantQuotaView(RestView):
    @extend_schema(responses=serializers.ListSerializer(child=bodies.QuotaCellAnswer()))
    def get(self, request: Request, slug: str) -> Response:
        cells = selectors.tenant_quota(actor_of(request), slug)
        return Response([{**cell, "as_of": stamp(cell["as_of"])} for cell in cells])


def flavor(view: Any) -> dict[str, Any]:
    return {
        "name": view.name,
        "cluster": view.cluster,
        "mode": view.mode,
        "card": view.card,
        "resource": view.resource or None,
        "memory_mib": view.memory_mib,
        "max_per_node": view.max_per_node,
        "price_hour": None if view.price_hour is None else format(view.price_hour, "f"),
        "capacity": view.capacity,
        "unavailable": view.unavailable,
        "free": view.free,
        "as_of": stamp(view.as_of),
    }


def image(row: Any) -> dict[str, Any]:
    return {"name": row.name, "reference": row.reference, "kinds": row.kinds, "description": row.description}
