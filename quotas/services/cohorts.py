"""Cohorts: who lends to whom, as a tree."""

from __future__ import annotations

from django.utils.translation import gettext as _

from portal.cluster.models import Cluster
from portal.kernel import work
from portal.kernel.actors import Actor
from portal.kernel.transaction import transaction
from quotas.arithmetic import makes_a_cycle
from quotas.models import Cohort
from quotas.services import rows
from tenants import selectors as tenants
from tenants.policies import not_found


def put_cohort(
    actor: Actor, *, cluster: Cluster, name: str, parent: str | None = None, show_teams: bool = False
) -> Cohort:
    """A cohort of this name on the cluster, below `parent` (a cohort's name; None: a tree of its own).

    Raises Invalid: an unknown parent, or one that hangs below this cohort itself (Kueue stops such a whole tree).
    """
    rows.require(actor)
    with transaction():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        present = {
            row.name: row for row in Cohort.objects.filter(cluster=cluster, deleting=False).select_related("parent")
        }
        if parent is not None and parent not in present:
            raise rows.refuse("parent", _("There is no such cohort on this cluster."))
        above = {key: row.parent.name if row.parent else None for key, row in present.items()}
        if parent is not None and makes_a_cycle(name, parent, above):
            raise rows.refuse("parent", _("A cohort cannot hang below itself."), "not_allowed")
        row = present.get(name) or Cohort(cluster=cluster, name=name)
        fields = {"parent": present[parent] if parent else None, "show_teams": show_teams}
        result = rows.put(actor, rows.Subject("cohort", name), row, fields)
        if result.changed:
            work.wake("cohort", result.row.pk)
    return result.row


def delete_cohort(actor: Actor, *, cluster: Cluster, name: str) -> None:
    """Conflict `in_use` while a team or another cohort belongs to it."""
    rows.require(actor)
    with transaction():
        Cluster.objects.select_for_update().get(pk=cluster.pk)
        row = Cohort.objects.filter(cluster=cluster, name=name, deleting=False).first()
        if row is None:
            raise not_found()
        if tenants.ids_in_cohorts([name]) or Cohort.objects.filter(parent=row).exists():
            raise rows.in_use()
        Cohort.objects.filter(pk=row.pk).update(deleting=True)
        rows.note(actor, rows.Subject("cohort", name), row.pk, "deleted")
        work.wake("cohort", row.pk)
