"""Rows -> answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portal.rest.answers import stamp

if TYPE_CHECKING:
    from tenants.models import Membership, Policy, Tenant, Token


def tenant(row: Tenant) -> dict[str, Any]:
    return {
        "slug": row.slug,
        "name": row.name,
        "state": row.state,
        "cohort": row.cohort or None,
        "created_at": stamp(row.created_at),
    }


def member(row: Membership) -> dict[str, Any]:
    return {"username": row.user.username, "role": row.role, "since": stamp(row.since)}


def policy(row: Policy) -> dict[str, Any]:
    return {
        "images": row.images,
        "default_max_duration": row.default_max_duration,
        "longest_max_duration": row.longest_max_duration,
        "idle_timeout": row.idle_timeout,
        "max_live": row.max_live,
        "egress": row.egress,
    }


def token(row: Token) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "name": row.name,
        "scopes": row.scopes,
        "tenant": row.tenant.slug if row.tenant else None,
        "role": row.role or None,
        "expires_at": stamp(row.expires_at),
        "last_used_at": stamp(row.last_used_at),
    }
