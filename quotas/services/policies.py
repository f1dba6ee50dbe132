"""A team's policy, held against the image catalogue, which the room below does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from portal.kernel.actors import Actor
from portal.kernel.errors import FieldError, Invalid
from quotas.models import Image
from tenants import selectors as tenants
from tenants import services

if TYPE_CHECKING:
    from tenants.models import Policy


def change_policy(actor: Actor, *, slug: str, changes: Mapping[str, Any]) -> Policy:
    """`tenants.services.change_policy`, and Invalid at each entry of `images` that the catalogue does not have.

    What the policy names already stays, though the catalogue may have lost it since.
    """
    given = changes.get("images")
    if isinstance(given, list):
        _check_names(given, tenants.policy(actor, slug).images)
    return services.change_policy(actor, slug=slug, changes=changes)


def _check_names(given: list[object], kept: list[str]) -> None:
    """Entries of another shape than a name are the other service's to refuse."""
    named = {entry: place for place, entry in enumerate(given) if isinstance(entry, str) and "/" not in entry}
    known = set(Image.objects.filter(active=True, name__in=list(named)).values_list("name", flat=True)) | set(kept)
    message = _("The catalogue has no image of this name.")
    faults = [FieldError(f"images.{place}", "invalid", message) for name, place in named.items() if name not in known]
    if faults:
        raise Invalid(faults)
