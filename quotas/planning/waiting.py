"""Why one waiting Kueue Workload waits: who is before it, who holds what it needs, and how much is free."""

from __future__ import annotations

from dataclasses import dataclass

from quotas.planning.standing import Member, Standing


@dataclass(frozen=True)
class Wait:
    """`available`: units that could be had now without evicting anybody; `queue`, `cohort`: 1-based places.

    `disagrees`: the model would admit it although Kueue has not.
    """

    me: Member
    queue: int
    queue_length: int
    cohort: int
    ahead: tuple[Member, ...]
    holders: tuple[Member, ...]
    needed: int
    available: int
    disagrees: bool


def wait_of(standing: Standing, owner_uids: frozenset[str], flavor: str, resource: str) -> Wait | None:
    """The first waiting Workload of these owners; None where none is known to wait.

    A Workload that the model would admit at once is found too, and marked as a disagreement.
    """
    lines = standing.lines
    mine = [one for uid in owner_uids for one in lines.by_owner.get(uid, ()) if one.held_since is None]
    if not mine:
        return None
    me = min(mine, key=lambda member: (member.created, member.key))
    place = lines.places[me.key]
    return Wait(
        me=me,
        queue=lines.queue_places[me.key],
        queue_length=len(standing.waiting(me.queue)),
        cohort=place,
        ahead=tuple(standing.waiting_in_cohort(me.queue)[: place - 1]),
        holders=tuple(standing.holders(me.queue, flavor, resource)),
        needed=me.units.get(resource, 0),
        available=standing.engine.available(me.queue, flavor, resource),
        disagrees=me.key in standing.hasty,
    )
