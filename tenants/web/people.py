"""Members and tokens: small forms that change one thing and lead back to their page."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from portal.kernel import clock
from portal.kernel.errors import Conflict, Invalid
from tenants import selectors, services
from tenants.web.visitor import person, way_back

DAYS = {"30": 30, "90": 90, "365": 365}
SCOPES = {"read": ["read"], "write": ["read", "write"]}


@require_POST
def change_members(request: HttpRequest, slug: str) -> HttpResponse:
    """Adds a member, changes a role, or removes somebody."""
    actor = person(request)
    selectors.tenant(actor, slug)
    username, role = request.POST.get("username", "").strip(), request.POST.get("role", "")
    try:
        match request.POST.get("do"):
            case "add":
                services.add_member(actor, slug=slug, username=username, role=role)
                messages.success(request, _("%(person)s is in the team now.") % {"person": username})
            case "change":
                services.change_role(actor, slug=slug, username=username, role=role)
                messages.success(request, _("The role of %(person)s is changed.") % {"person": username})
            case "remove":
                services.remove_member(actor, slug=slug, username=username)
                messages.success(request, _("%(person)s is no longer in the team.") % {"person": username})
    except Invalid as refusal:
        messages.error(request, " ".join(str(error.message) for error in refusal.errors))
    except Conflict as refusal:
        messages.error(request, str(refusal.message))
    return redirect(f"/teams/{slug}/")


@never_cache
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """The person's own tokens; a POST makes one (a team's machine token where `tenant` is given) and shows it once."""
    actor = person(request)
    if request.method == "GET":
        own = [token for token in selectors.tokens(actor) if token.tenant is None]
        return render(request, "tenants/tokens.html", {"tokens": own})
    slug = request.POST.get("tenant", "")
    back = f"/teams/{slug}/" if slug else "/tokens/"
    machine = {"tenant": slug, "role": request.POST.get("role", "")} if slug else {}
    try:
        token, secret = services.create_token(
            actor,
            name=request.POST.get("name", "").strip(),
            scopes=SCOPES.get(request.POST.get("scope", ""), []),
            expires_at=clock.now() + timedelta(days=DAYS.get(request.POST.get("days", ""), 90)),
            **machine,
        )
    except Invalid as refusal:
        messages.error(request, " ".join(str(error.message) for error in refusal.errors))
        return redirect(back)
    return render(request, "tenants/token_made.html", {"token": token, "secret": secret, "back": back}, status=201)


@require_POST
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Ends a token at once."""
    services.revoke_token(person(request), token_id=token_id)
    messages.success(request, _("The token no longer works."))
    return redirect(way_back(request, request.POST, "/tokens/"))
