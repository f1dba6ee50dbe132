"""Who looks at a page: a person with a session, or somebody who has to sign in first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest, QueryDict
from django.utils.http import url_has_allowed_host_and_scheme

from portal.kernel.actors import Person
from portal.kernel.errors import Unauthenticated
from tenants import selectors as tenants

if TYPE_CHECKING:
    from tenants.models import Tenant
    from tenants.roles import Role


def person(request: HttpRequest) -> Person:
    """The person of the session. Unauthenticated (a redirect to the sign-in page) for anybody else."""
    actor = getattr(request, "actor", None)
    if not isinstance(actor, Person):
        raise Unauthenticated
    return actor


def teams(request: HttpRequest) -> list[tuple[Tenant, Role]]:
    """The person's teams with the role in each, by slug; asked for once in a request, however many parts show them."""
    kept: list[tuple[Tenant, Role]] | None = getattr(request, "teams", None)
    if kept is None:
        kept = tenants.memberships(person(request))
        request.teams = kept  # type: ignore[attr-defined]
    return kept


def way_back(request: HttpRequest, parameters: QueryDict, default: str = "/") -> str:
    """`next` of the parameters where it is an address of this portal, else `default`."""
    wanted = parameters.get("next", "")
    own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if own else default
