"""A team's policy: what its work may be. Managers and administrators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from tenants import selectors
from tenants.models import Policy
from tenants.policies import require_scope
from tenants.services import history, spaces
from tenants.services.fields import Faults

DURATIONS = ("default_max_duration", "longest_max_duration", "idle_timeout")
LONGEST_DURATION = 366 * 86400
SHORTEST_DURATION = 60
MOST_LIVE = 100_000
MOST_IMAGES = 200
EGRESS = ("internet", "none")
CATALOGUE_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
# A registry's host (with a dot, a port or `localhost`), then path parts, ending in `/`.
REFERENCE_PREFIX = re.compile(
    r"(?=[^/]*[.:]|localhost/)[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?/([a-z0-9]+([._-]+[a-z0-9]+)*/)*"
)


def change_policy(actor: Actor, *, slug: str, changes: Mapping[str, Any]) -> Policy:
    """Changes the given fields of the team's policy; durations in seconds, None lifts a limit.

    What runs already is left alone: the policy decides on what starts next. Raises Invalid, NotFound or Denied.
    """
    require_scope(actor, "write")
    team = selectors.tenant_to_manage(actor, slug)
    with transaction():
        row = Policy.objects.select_for_update().get(pk=team.pk)
        _check({**_fields(row), **changes}, changes)
        before = {field: value for field, value in _fields(row).items() if changes.get(field, value) != value}
        if not before:
            return row
        after = {field: changes[field] for field in before}
        Policy.objects.filter(pk=row.pk).update(**after)
        history.of_tenant(
            actor,
            team,
            "policy_changed",
            message=gettext_noop("The team's policy changed: %(fields)s."),
            params={"fields": ", ".join(sorted(after))},
            before=before,
            after=after,
        )
        if "egress" in after:
            spaces.wake_all(team.pk)
    return selectors.policy_of(team.pk)


def _fields(row: Policy) -> dict[str, Any]:
    return {field: getattr(row, field) for field in ("images", *DURATIONS, "max_live", "egress")}


def _check(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    faults = Faults()
    for field in given:
        faults.unless(field in values and field in _KNOWN, field, _("There is no such field."), "unknown_field")
    bounds = {"least": SHORTEST_DURATION, "most": LONGEST_DURATION}
    seconds = _("Give whole seconds from %(least)s to %(most)s, or null for no limit.") % bounds
    for field in DURATIONS:
        ok = values[field] is None or _whole(values[field], SHORTEST_DURATION, LONGEST_DURATION)
        faults.unless(ok, field, seconds)
    live = _("Give a whole number from 0 to %(most)s, or null for no limit.") % {"most": MOST_LIVE}
    faults.unless(values["max_live"] is None or _whole(values["max_live"], 0, MOST_LIVE), "max_live", live)
    faults.unless(values["egress"] in EGRESS, "egress", _("The way out is internet or none."))
    _check_images(faults, values["images"])
    faults.refuse()
    default, longest = values["default_max_duration"], values["longest_max_duration"]
    shorter = default is None or longest is None or default <= longest
    faults.unless(shorter, "default_max_duration", _("The default cannot be longer than the longest."))
    faults.refuse()


_KNOWN = frozenset({"images", "max_live", "egress", *DURATIONS})


def _check_images(faults: Faults, images: object) -> None:
    few = isinstance(images, list) and len(images) <= MOST_IMAGES
    faults.unless(few, "images", _("Give a list of at most %(most)s images.") % {"most": MOST_IMAGES})
    shape = _("Use a name of the catalogue, or a registry path in lowercase that ends in “/” (host:port/path/).")
    for number, entry in enumerate(images if isinstance(images, list) else []):
        faults.unless(_names_images(entry), f"images.{number}", shape)


def _names_images(entry: object) -> bool:
    if not isinstance(entry, str) or len(entry) > 255:
        return False
    return any(shape.fullmatch(entry) for shape in (CATALOGUE_NAME, REFERENCE_PREFIX))


def _whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
