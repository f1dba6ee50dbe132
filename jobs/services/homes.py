"""What a new notebook says of its home, so that nobody looks in it for another one's files."""

from __future__ import annotations

from django.db.models import Max, Q

from jobs import transitions
from jobs.decide import stamp
from jobs.models import Workload
from jobs.states import HOME_KEPT, State, gettext_noop

NEW_HOME = gettext_noop("It begins with a new, empty home folder.")
NEW_HOME_BESIDE = gettext_noop(
    "It begins with a new, empty home folder. That of the notebook of this name that was deleted at %(at)s is another: "
    "it is kept for 7 days, and an administrator can bring files back from it."
)


def tell_of_home(row: Workload) -> None:
    """A name that comes again is another notebook: nobody shall look for the old one's files in it."""
    if row.kind != "notebook":
        return
    deleted = Workload.objects.filter(tenant=row.tenant, kind=row.kind, name=row.name, state=State.DELETED)
    newest = deleted.aggregate(at=Max("deleted_at", filter=Q(delete_data=False)))["at"]
    if newest and row.created_at - newest < HOME_KEPT:
        transitions.tell(row, entry="home", message=NEW_HOME_BESIDE, params={"at": stamp(newest)})
    else:
        transitions.tell(row, entry="home", message=NEW_HOME)
