"""Pages that span rooms: home and the team; and the reader's own preferences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.views.decorators.http import require_POST, require_safe

from jobs import selectors as jobs
from portal.kernel import feed
from portal.kernel.actors import Person
from portal.shell import bars
from portal.shell.preferences import THEME_COOKIE, THEMES, remember
from quotas import selectors as quotas
from tenants import selectors as tenants
from tenants import services as tenant_services
from tenants.policies import role_of
from tenants.roles import Permission, Role, allows
from tenants.web.visitor import person, teams, way_back

if TYPE_CHECKING:
    from tenants.models import Tenant

MINE = 12


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """My workloads, my teams' quotas, what is free now."""
    actor = person(request)
    return render(request, "shell/home.html", home_context(request, actor, home_version(teams(request))))


@require_safe
def home_live(request: HttpRequest) -> HttpResponse:
    """The moving part of home; 204 while nothing changed that it shows."""
    actor, version = person(request), home_version(teams(request))
    if request.GET.get("version") == version:
        return HttpResponse(status=204)
    return render(request, "shell/_home_live.html", home_context(request, actor, version))


def home_version(own: Sequence[tuple[Tenant, Role]]) -> str:
    """Changes with every entry of these teams' feeds, and with the figures of the clusters."""
    seqs = feed.last_seqs([feed.tenant_scope(tenant.pk) for tenant, _role in own])
    return f"{sum(seqs.values())}.{quotas.freshness()}"


def home_context(request: HttpRequest, actor: Person, version: str) -> dict[str, Any]:
    """All that home shows, by a number of queries that grows neither with the person's teams nor with work.

    `version` was read before, so that what happens meanwhile is shown by the next look.
    """
    own = teams(request)
    tenants_shown = [tenant for tenant, _role in own]
    seen = quotas.overview(actor, tenants_shown)
    known = [flavor.as_of for flavor in seen.flavors if flavor.as_of]
    mine = jobs.workloads(actor, teams=tenants_shown, owner=actor.username)[:MINE] if own else []
    return {
        "tenants": tenants_shown,
        "workloads": [jobs.represent(row, detail=False, language=translation.get_language()) for row in mine],
        "quotas": [bars.of_team(t.slug, t.name, seen.quotas[t.slug], link=True) for t in tenants_shown],
        "flavors": [flavor for flavor in seen.flavors if flavor.mode != "none"],
        "away": seen.away,
        "flavors_as_of": min(known) if known else None,
        "version": version,
    }


@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    """A team: quota, members, what its work may be, machine tokens."""
    actor = person(request)
    tenant = tenants.tenant(actor, slug)
    role = role_of(actor, tenant.id)
    machines = allows(role, Permission.MACHINE_TOKENS)
    seen = quotas.overview(actor, [tenant])
    context = {
        "tenant": tenant,
        "role": role,
        "taken": jobs.taken_from_team(actor, tenant) if role else None,
        "away": seen.away,
        "team": bars.of_team(tenant.slug, tenant.name, seen.quotas[tenant.slug], link=False),
        "members": [
            {"username": row.user.username, "role": row.role, "since": row.since}
            for row in tenants.members(actor, slug)
        ],
        "policy": tenants.policy_of(tenant.pk),
        "roles": [role.value for role in Role],
        "may_members": allows(role, Permission.MEMBERS),
        "may_machines": machines,
        "tokens": [token for token in tenants.tokens(actor) if token.tenant_id == tenant.id] if machines else [],
    }
    return render(request, "tenants/team.html", context)


@require_POST
def preferences(request: HttpRequest) -> HttpResponse:
    """Keeps the reader's language (with the person too, so that it wins everywhere) or appearance."""
    response = redirect(way_back(request, request.POST))
    language, theme = request.POST.get("language", ""), request.POST.get("theme", "")
    if language in dict(settings.LANGUAGES):
        remember(response, settings.LANGUAGE_COOKIE_NAME, language)
        actor = getattr(request, "actor", None)
        if isinstance(actor, Person):
            tenant_services.change_preferences(actor, language=language)
    if theme in THEMES:
        remember(response, THEME_COOKIE, theme)
    return response
