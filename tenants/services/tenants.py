"""Teams: opening, renaming, moving, suspending and archiving them. Administrators only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from portal.kernel.actors import Actor
from portal.kernel.errors import Conflict, Invalid
from portal.kernel.transaction import transaction
from tenants import selectors
from tenants.errors import NameTaken
from tenants.models import Policy, Tenant, TenantState
from tenants.policies import require_administrator, require_scope
from tenants.services import history, spaces
from tenants.services.fields import Faults, is_line, line_message

LONGEST_NAME = 100
SLUG = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")
CHANGEABLE = ("name", "cohort", "state")
SAID = {
    "name": gettext_noop("The team was renamed."),
    "cohort": gettext_noop("The team moved to another cohort."),
    TenantState.ACTIVE: gettext_noop("The team is active again."),
    TenantState.SUSPENDED: gettext_noop("The team was suspended: nothing new starts, what runs goes on."),
    TenantState.ARCHIVED: gettext_noop("The team was archived: its work is stopped, its data stays."),
}


def create_tenant(actor: Actor, *, slug: str, name: str, cohort: str = "") -> Tenant:
    """A new active team, with a default policy and a namespace to come on every cluster.

    Administrators. Raises Invalid (`slug`, `name`, `cohort`), or NameTaken: a slug is never used again.
    """
    require_scope(actor, "write")
    require_administrator(actor)
    _check({"slug": slug, "name": name, "cohort": cohort})
    with transaction():
        try:
            with transaction():
                row = Tenant.objects.create(slug=slug, name=name, cohort=cohort)
        except IntegrityError as error:
            raise NameTaken(_("There is, or was, a team with this slug.")) from error
        Policy.objects.create(tenant=row)
        spaces.open_all(row)
        history.of_tenant(
            actor,
            row,
            "created",
            message=gettext_noop("The team was opened."),
            after={"slug": slug, "name": name, "cohort": cohort},
        )
    return row


def change_tenant(actor: Actor, *, slug: str, **changes: Any) -> Tenant:
    """Changes `name`, `cohort` or `state`; what is as it was is left alone.

    Administrators. Raises Invalid, NotFound, or Conflict when somebody else changed the same team meanwhile.
    """
    require_scope(actor, "write")
    row = selectors.tenant(actor, slug)
    require_administrator(actor)
    _check(changes, known=CHANGEABLE)
    before = {field: getattr(row, field) for field in changes if getattr(row, field) != changes[field]}
    if not before:
        return row
    after = {field: changes[field] for field in before}
    with transaction():
        if not Tenant.objects.filter(pk=row.pk, **before).update(**after):
            raise Conflict(_("Somebody else changed this team at the same moment; look again."))
        for field, old in before.items():
            new = after[field]
            message = SAID[new if field == "state" else field]
            history.of_tenant(actor, row, "changed", message=message, before={field: old}, after={field: new})
        spaces.wake_all(row.pk)
    return selectors.tenant(actor, slug)


def _check(values: Mapping[str, Any], known: tuple[str, ...] = ("slug", "name", "cohort")) -> None:
    faults = Faults()
    for field in values:
        faults.unless(field in known, field, _("There is no such field to change."), "unknown_field")
    slug = values.get("slug", "x")
    shape = _("Use 1 to 40 lowercase letters, digits and hyphens; first a letter, last no hyphen.")
    faults.unless(_is_slug(slug), "slug", shape)
    faults.unless(is_line(values.get("name", "x"), LONGEST_NAME), "name", line_message(LONGEST_NAME))
    cohort = values.get("cohort", "")
    faults.unless(cohort == "" or _is_slug(cohort), "cohort", shape)
    states = _("The state is active, suspended or archived.")
    faults.unless(values.get("state", "active") in TenantState.values, "state", states)
    faults.refuse()


def _is_slug(value: object) -> bool:
    return isinstance(value, str) and SLUG.fullmatch(value) is not None


def refuse_unknown_tenant(field: str = "tenant") -> Invalid:
    """For a body that names a team the actor may not see: the same words as for a missing one."""
    return Invalid.field(field, _("There is no such team, or you do not belong to it."))
