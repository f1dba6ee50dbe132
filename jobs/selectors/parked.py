"""A workload on which Turno gave up: why, and what brings it back."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext

from portal.kernel import work


@dataclass(frozen=True)
class Parked:
    """In the reader's language: what happened (with the last error in its own words), and what each can do."""

    message: str
    yours: str
    administrators: str


def parked(workload_id: UUID) -> Parked | None:
    """None while its passes run as they should. One query. The caller has checked who asks."""
    why = work.parked_reason("workload", workload_id)
    if not why:
        return None
    message = gettext("Turno tried %(times)s times to bring it further and gave up; what is shown may be old. %(why)s")
    command = f"manage.py wake workload {workload_id}"
    administrators = gettext("An administrator finds the cause in the worker's log under its id, then: %(command)s")
    return Parked(
        message % {"times": work.PARK_AFTER, "why": why},
        gettext("Changing, stopping or starting it makes Turno try again."),
        administrators % {"command": command},
    )
