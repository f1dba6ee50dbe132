"""Who is in a team. Managers and administrators; the last manager cannot go."""

from __future__ import annotations

from django.db import IntegrityError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from portal.kernel import work
from portal.kernel.actors import Actor, Person
from portal.kernel.errors import Conflict
from portal.kernel.lookups import is_askable
from portal.kernel.transaction import transaction
from tenants import selectors
from tenants.errors import LastManager, NameTaken
from tenants.models import Membership, Tenant, User
from tenants.policies import require_scope
from tenants.roles import Role
from tenants.services import history
from tenants.services.fields import Faults, role_message


def add_member(actor: Actor, *, slug: str, username: str, role: str) -> Membership:
    """Takes a person into the team. Raises Invalid (`username`, `role`) or NameTaken where they are in it already."""
    team = _managed(actor, slug)
    user = User.objects.filter(username=username, is_active=True).first() if is_askable(username) else None
    faults = Faults()
    faults.unless(user is not None, "username", _("Nobody has this username."))
    faults.unless(_is_role(role), "role", role_message())
    faults.refuse()
    assert user is not None  # noqa: S101  refused above
    with transaction():
        try:
            with transaction():
                row = Membership.objects.create(tenant=team, user=user, role=role)
        except IntegrityError as error:
            raise NameTaken(_("This person is in the team already."), code="already_member") from error
        history.of_tenant(
            actor,
            team,
            "member_added",
            message=gettext_noop("%(username)s joined the team as %(role)s."),
            params={"username": username, "role": role},
            after={"username": username, "role": role},
        )
    return row


def change_role(actor: Actor, *, slug: str, username: str, role: str) -> Membership:
    """Gives a member another role, from this moment on. Raises Invalid (`role`), NotFound or LastManager."""
    team = _managed(actor, slug)
    row = selectors.member(actor, slug, username)
    faults = Faults()
    faults.unless(_is_role(role), "role", role_message())
    faults.refuse()
    if row.role == role:
        return row
    with transaction():
        _keep_a_manager(team, without=row)
        if not Membership.objects.filter(pk=row.pk, role=row.role).update(role=role):
            raise _changed_meanwhile()
        history.of_tenant(
            actor,
            team,
            "role_changed",
            message=gettext_noop("%(username)s is now %(role)s."),
            params={"username": username, "role": role},
            before={"username": username, "role": row.role},
            after={"username": username, "role": role},
        )
    return selectors.member(actor, slug, username)


def remove_member(actor: Actor, *, slug: str, username: str) -> None:
    """Takes a person out of the team; people may also leave by themselves. What they run goes on, as the team's.

    Raises NotFound or LastManager. The person's tokens stay and lose this team at once; its machines stay.
    """
    require_scope(actor, "write")
    row = selectors.member(actor, slug, username)
    if not (isinstance(actor, Person) and row.user_id == actor.id):
        _managed(actor, slug)
    team = row.tenant
    with transaction():
        _keep_a_manager(team, without=row)
        deleted, _rows = Membership.objects.filter(pk=row.pk, role=row.role).delete()
        if not deleted:
            raise _changed_meanwhile()
        history.of_tenant(
            actor,
            team,
            "member_removed",
            message=gettext_noop("%(username)s left the team. What they run goes on; a manager can stop it."),
            params={"username": username},
            before={"username": username, "role": row.role},
        )
        # The room above tells of it on the timelines of what the person runs in the team.
        work.wake("departure", row.user_id)


def _managed(actor: Actor, slug: str) -> Tenant:
    require_scope(actor, "write")
    return selectors.tenant_to_manage(actor, slug)


def _keep_a_manager(team: Tenant, *, without: Membership) -> None:
    """Managers of one team come and go one at a time: whoever holds the team's row counts the others."""
    Tenant.objects.select_for_update().get(pk=team.pk)
    if without.role != Role.MANAGER:
        return
    if not Membership.objects.filter(tenant=team, role=Role.MANAGER).exclude(pk=without.pk).exists():
        raise LastManager(_("A team keeps at least one manager: name another one first."))


def _changed_meanwhile() -> Conflict:
    return Conflict(_("Somebody else changed this member at the same moment; look again."))


def _is_role(value: object) -> bool:
    return isinstance(value, str) and value in set(Role)
