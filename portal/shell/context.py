"""What every page has around its content: navigation and the reader's appearance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from portal.kernel.actors import Person
from portal.shell.preferences import theme_of
from tenants.web.visitor import teams


@dataclass(frozen=True)
class Entry:
    """One link of the navigation."""

    href: str
    icon: str
    label: str | Promise
    current: bool


def page(request: HttpRequest) -> dict[str, Any]:
    """Context processor. The navigation is looked up only where a template shows it: fragments do not."""
    return {"theme": theme_of(request), "navigation": SimpleLazyObject(lambda: list(navigation(request)))}


def navigation(request: HttpRequest) -> Iterator[Entry]:
    """The links that lead somewhere for this person. One query, where the page has not asked for their teams itself."""
    actor = getattr(request, "actor", None)
    if not isinstance(actor, Person):
        return
    yield _entry(request, "/", "home", _("Home"))
    yield _entry(request, "/workloads/", "list-details", _("Workloads"))
    yield _entry(request, "/queue/", "ticket", _("Queue"))
    yield _entry(request, "/new/", "plus", _("New"), href="/new/notebook/")
    for tenant, _role in teams(request):
        yield _entry(request, f"/teams/{tenant.slug}/", "users", tenant.name)
    yield _entry(request, "/tokens/", "key", _("My tokens"))
    if actor.is_admin:
        yield _entry(request, "/admin/", "settings", _("Administration"))


def _entry(request: HttpRequest, prefix: str, icon: str, label: str | Promise, href: str = "") -> Entry:
    current = request.path == "/" if prefix == "/" else request.path.startswith(prefix)
    return Entry(href or prefix, icon, label, current)
