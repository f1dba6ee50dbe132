"""REST of the tenants room: one call deep, to a service or a selector."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from portal.kernel import clock, feed
from portal.rest import answers as shared
from portal.rest.access import actor_of
from portal.rest.creating import create
from portal.rest.pagination import page
from portal.rest.serializers import read
from portal.rest.views import RestView
from tenants import selectors, services
from tenants.api import answers, bodies
from tenants.policies import require_administrator

IN_THREE_MONTHS = shared.stamp(clock.now() + timedelta(days=90))


class MeView(RestView):
    @extend_schema(responses=bodies.Me)
    def get(self, request: Request) -> Response:
        actor = actor_of(request)
        found = [{"slug": t.slug, "name": t.name, "role": role} for t, role in selectors.memberships(actor)]
        return Response({"username": actor.label, "is_admin": actor.is_admin, "tenants": found})


class TenantsView(RestView):
    @extend_schema(responses=shared.paged("Tenant", bodies.TenantAnswer), parameters=shared.PAGE_PARAMETERS)
    def get(self, request: Request) -> Response:
        rows = selectors.tenants(actor_of(request))
        return Response(page(request, rows, lambda found: [answers.tenant(row) for row in found]))

    @extend_schema(
        request=bodies.TenantCreate,
        responses={201: bodies.TenantAnswer},
        examples=[OpenApiExample("A team", {"slug": "vision", "name": "Computer vision"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        actor = actor_of(request)
        require_administrator(actor)

        def command() -> tuple[dict[str, Any], Any]:
            row = services.create_tenant(actor, **read(bodies.TenantCreate, request.data))
            return answers.tenant(row), row.id

        return create(request, scope=feed.PLATFORM, prepare=lambda: command)


class TenantView(RestView):
    @extend_schema(responses=bodies.TenantAnswer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(answers.tenant(selectors.tenant(actor_of(request), slug)))

    @extend_schema(request=bodies.TenantChange, responses=bodies.TenantAnswer)
    def patch(self, request: Request, slug: str) -> Response:
        actor = actor_of(request)
        tenant = selectors.tenant(actor, slug)
        require_administrator(actor)
        changes = read(bodies.TenantChange, request.data)
        return Response(answers.tenant(services.change_tenant(actor, slug=tenant.slug, **changes)))


class MembersView(RestView):
    @extend_schema(responses=shared.paged("Member", bodies.MemberAnswer), parameters=shared.PAGE_PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        rows = selectors.members(actor_of(request), slug)
        return Response(page(request, rows, lambda found: [answers.member(row) for row in found]))

    @extend_schema(
        request=bodies.MemberCreate,
        responses={201: bodies.MemberAnswer},
        examples=[OpenApiExample("A member", {"username": "pablo", "role": "viewer"}, request_only=True)],
    )
    def post(self, request: Request, slug: str) -> Response:
        actor = actor_of(request)
        tenant = selectors.tenant_to_manage(actor, slug)

        def command() -> tuple[dict[str, Any], Any]:
            row = services.add_member(actor, slug=slug, **read(bodies.MemberCreate, request.data))
            return answers.member(row), row.id

        return create(request, scope=feed.tenant_scope(tenant.id), prepare=lambda: command)


class MemberView(RestView):
    @extend_schema(request=bodies.MemberChange, responses=bodies.MemberAnswer)
    def patch(self, request: Request, slug: str, username: str) -> Response:
        actor = actor_of(request)
        selectors.member_to_manage(actor, slug, username)
        change = read(bodies.MemberChange, request.data)
        return Response(answers.member(services.change_role(actor, slug=slug, username=username, **change)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        services.remove_member(actor_of(request), slug=slug, username=username)
        return Response(status=204)


class TokensView(RestView):
    @extend_schema(responses=shared.paged("Token", bodies.TokenAnswer), parameters=shared.PAGE_PARAMETERS)
    def get(self, request: Request) -> Response:
        rows = selectors.tokens(actor_of(request))
        return Response(page(request, rows, lambda found: [answers.token(row) for row in found]))

    @extend_schema(
        request=bodies.TokenCreate,
        responses={201: bodies.NewTokenAnswer},
        examples=[
            OpenApiExample(
                "A personal token",
                {
                    "name": "laptop",
                    "scopes": ["read", "write"],
                    "expires_at": shared.stamp(clock.now() + timedelta(days=90)),
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        actor = actor_of(request)

        def command() -> tuple[dict[str, Any], Any]:
            row, secret = services.create_token(actor, **read(bodies.TokenCreate, request.data))
            return {**answers.token(row), "token": secret}, row.id

        return create(request, scope=feed.PLATFORM, prepare=lambda: command, hide=("token",))


class TokenView(RestView):
    @extend_schema(responses=bodies.TokenAnswer)
    def get(self, request: Request, id: UUID) -> Response:  # noqa: A002  the path's own word
        return Response(answers.token(selectors.token(actor_of(request), id)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, id: UUID) -> Response:  # noqa: A002  the path's own word
        services.revoke_token(actor_of(request), token_id=id)
        return Response(status=204)


class AuditView(RestView):
    @extend_schema(responses=shared.paged("Audit", bodies.AuditAnswer), parameters=shared.PAGE_PARAMETERS)
    def get(self, request: Request) -> Response:
        rows = selectors.audit(actor_of(request))
        return Response(page(request, rows, lambda found: [audit_row(row) for row in found]))


def audit_row(row: Any) -> dict[str, Any]:
    at: datetime = row.at
    return {
        "id": str(row.id),
        "at": shared.stamp(at),
        "actor": {"type": row.actor_type, "name": row.actor_label},
        "verb": row.verb,
        "target": {"type": row.target_type, "id": row.target_id, "name": row.target_label},
        "tenant": row.tenant_slug or None,
        "before": row.before,
        "after": row.after,
        "request_id": row.request_id,
    }
