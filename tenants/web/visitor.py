"""Who looks at a page: a person with a session, or somebody who has to sign in first."""

from __future__ import annotations

from django.http import HttpRequest, QueryDict
from django.utils.http import url_has_allowed_host_and_scheme

from portal.kernel.actors import Person
from portal.kernel.errors import Unauthenticated


def person(request: HttpRequest) -> Person:
    """The person of the session. Unauthenticated (a redirect to the sign-in page) for anybody else."""
    actor = getattr(request, "actor", None)
    if not isinstance(actor, Person):
        raise Unauthenticated
    return actor


def way_back(request: HttpRequest, parameters: QueryDict, default: str = "/") -> str:
    """`next` of the parameters where it is an address of this portal, else `default`."""
    wanted = parameters.get("next", "")
    own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if own else default
