"""Why a workload waits: its place in the queue, the one limit that holds it, and the ways out. From the mirror only."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from jobs.models import Workload
from jobs.selectors import answering, likely, words
from jobs.selectors.parked import Parked, parked
from jobs.selectors.workloads import workload
from jobs.states import EXPLANATIONS, Reason, State
from portal.cluster import names
from portal.cluster import selectors as cluster
from portal.cluster.models import MirrorObject
from portal.kernel.actors import Actor
from quotas import planning
from quotas.planning import Standing, Wait
from tenants.policies import can
from tenants.roles import Permission


def position(row: Workload) -> int | None:
    """1-based place in the team's queue; None where it does not wait or the mirror does not know it (yet)."""
    if row.state != State.QUEUED:
        return None
    return _place(_pending(row), row)


def _pending(row: Workload) -> list[MirrorObject]:
    queue = names.prefixed(row.cluster.prefix, row.tenant.slug)
    return cluster.pending(row.cluster_id, [queue])


def _place(pending: list[MirrorObject], row: Workload) -> int | None:
    """The first of its pods that waits; pods of one Deployment wait one by one."""
    if not pending:
        return None
    mine = {one.uid for one in cluster.objects_of_workload(row.pk)}
    for place, one in enumerate(pending, start=1):
        if one.job_uid in mine or one.owner_uid in mine:
            return place
    return None


def explain(actor: Actor, workload_id: UUID) -> dict[str, Any]:
    """Blocker, place, who is ahead, who holds what it needs, and the ways out (api.md, section 4).

    Kueue's mirrored condition comes first; the model of admission completes it. `as_of` and `since` are datetimes;
    `as_of` is None where the mirror was never filled.
    """
    row = workload(actor, workload_id)
    given_up = parked(row.pk)
    if given_up is not None:
        return {**NOTHING, **_given_up(given_up), "as_of": cluster.as_of(row.cluster_id, "Workload")}
    if row.reason == Reason.NO_NODE_FITS:
        return _without_a_node(actor, row)
    if row.state != State.QUEUED:
        return {**NOTHING, "as_of": cluster.as_of(row.cluster_id, "Workload")}
    uids = frozenset(one.uid for one in cluster.objects_of_workload(row.pk))
    state, found = answering.wait(row.cluster_id, uids, row.flavor)
    teams = answering.Teams.of(actor, row.cluster, row.tenant)
    resource = row.flavor.resource or "cpu"
    return {
        "blocker": _blocker(row, found),
        "position": _position(found),
        "ahead": answering.ahead_of(found.ahead, teams) if found else [],
        "holders": answering.holders_of(found, teams, resource) if found else [],
        **likely.of_waiting(row, found),
        "ways_out": _ways_out(actor, row, state),
        "as_of": state.as_of,
    }


def _without_a_node(actor: Actor, row: Workload) -> dict[str, Any]:
    """Admitted, and no node has so many cards free at once: how many one has, and what would start instead.

    What would start is judged as if its own quota were free again, since asking differently gives it back.
    """
    uids = frozenset(one.uid for one in cluster.objects_of_workload(row.pk))
    state, room = planning.standing(row.cluster_id), planning.room(row.cluster_id)
    mine = [one.key for one in state.members.values() if one.owner_uid in uids]
    misfit = room.misfit(state, answering.asked_of(row.request, row.tenant, row.flavor, 0), 1)
    told = gettext("Its quota is held, but it needs %(needed)s of %(flavor)s on one node, and the most is %(most)s.")
    blocker = _blocker(row, None)
    if misfit is not None:
        values = {"needed": misfit.needed, "most": misfit.most_free, "flavor": row.flavor.name}
        blocker |= {"needed": misfit.needed, "available": misfit.most_free, "note": told % values}
    ways = [way for way in _ways_out(actor, row, state.without(mine)) if way["who"] == "you"]
    return {**NOTHING, "blocker": blocker, "ways_out": ways, "as_of": state.as_of}


NOTHING: dict[str, Any] = {
    "blocker": None,
    "position": None,
    "ahead": [],
    "holders": [],
    "likely_start": None,
    "forecast": None,
    "ways_out": [],
}


def _given_up(found: Parked) -> dict[str, Any]:
    nothing = dict.fromkeys(("flavor", "resource", "needed", "available", "note"))
    return {
        "blocker": {"code": "parked", "message": found.message, **nothing},
        "ways_out": [
            {"who": "you", "action": found.yours, "change": None},
            {"who": "administrator", "action": found.administrators, "change": None},
        ],
    }


def _position(found: Wait | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"queue": found.queue, "queue_length": found.queue_length, "cohort": found.cohort}


def _blocker(row: Workload, found: Wait | None) -> dict[str, Any]:
    told = row.reason_params
    needed = told.get("needed")
    return {
        "code": row.reason,
        "message": words.sentence(EXPLANATIONS[Reason(row.reason)].sentence, told, None),
        "flavor": told.get("flavor") or row.flavor.name,
        "resource": told.get("resource") or row.flavor.resource or None,
        "needed": found.needed if found else int(needed) if str(needed).isdigit() else None,
        "available": found.available if found else None,
        "note": _note(row, found),
    }


def _note(row: Workload, found: Wait | None) -> str | None:
    """What the model adds to Kueue's words: that it sees room where Kueue does not, or why it waits while Kueue has not
    spoken yet."""
    if found is None:
        return None
    if found.disagrees:
        since = planning.disagrees_since(row.cluster_id, found.me.uid)
        told = gettext("Kueue has not admitted it although by our reading there is room, since %(since)s.")
        return told % {"since": since.isoformat(timespec="seconds")} if since else None
    if row.reason != Reason.IN_LINE:
        return None
    values = {"needed": found.needed, "available": found.available, "flavor": row.flavor.name, "n": len(found.ahead)}
    if found.available < found.needed:
        told = gettext("By our reading it needs %(needed)s of %(flavor)s, and %(available)s can be had now.")
    else:
        told = gettext("By our reading there is room for it; %(n)s are tried before it.")
    return told % values


def _ways_out(actor: Actor, row: Workload, state: Standing) -> list[dict[str, Any]]:
    """What the person can do, then what would start at once, then what the team's manager can do."""
    way = EXPLANATIONS[Reason(row.reason)].way_out
    ways = [{"who": "you", "action": gettext(way), "change": None}] if way else []
    manager = can(actor, Permission.PRIORITIES, row.tenant_id)
    answer = answering.preview(actor, row.tenant, row.flavor, row.request, manager=manager, state=state)
    differently = gettext("Ask differently; this would start now.")
    offered = answer["alternatives"] if answer else []
    ways += [{"who": "you", "action": differently, "change": one["change"]} for one in offered]
    asking = gettext("Raise its priority, or ask an administrator for more quota.")
    return [*ways, {"who": "manager", "action": asking, "change": None}]
