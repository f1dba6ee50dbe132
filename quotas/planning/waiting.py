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
    mine = [m for m in standing.members.values() if m.owner_uid in owner_uids and m.held_since is None]
    if not mine:
        return None
    me = min(mine, key=lambda member: (member.created, member.key))
    line = standing.waiting(me.queue)
    together = standing.waiting_in_cohort(me.queue)
    places = [member.key for member in together]
    disagrees = me.key in standing.hasty
    return Wait(
        me=me,
        queue=next((n for n, member in enumerate(line, start=1) if member.key == me.key), 1),
        queue_length=max(len(line), 1),
        cohort=places.index(me.key) + 1 if me.key in places else 1,
        ahead=tuple(together[: places.index(me.key)]) if me.key in places else (),
        holders=tuple(standing.holders(me.queue, flavor, resource)),
        needed=me.units.get(resource, 0),
        available=standing.engine.available(me.queue, flavor, resource),
        disagrees=disagrees,
    )
