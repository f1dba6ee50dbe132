"""The forecasts of one cluster at this moment: the mirror's queues, with what the ledger knows of past lengths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from portal.kernel import clock
from quotas.models import Allocation
from quotas.planning.arrivals import NOBODY, Arrival, Past
from quotas.planning.correction import Correction
from quotas.planning.forecast import Estimate, Scene, estimates
from quotas.planning.forecasts import outcomes
from quotas.planning.known import Known
from quotas.planning.lengths import History, Interval, Length, Template
from quotas.planning.preview import Asked, spec_of
from quotas.planning.standing import Member, Standing

REMEMBERED = timedelta(days=60)
MOST_REMEMBERED = 5000
# Whatever else closes an interval, the work would have gone on.
ENDED = frozenset({"finished", "stopped", "deleted", "ended"})


@dataclass(frozen=True)
class Came:
    """One run of the last days, when it came into the queue."""

    at: datetime
    template: Template
    asked: Asked


@dataclass(frozen=True)
class Survey:
    """What the room above knows of a cluster's work: what each live workload is like with the number of its run, and
    who came in the last days, oldest first."""

    live: Mapping[UUID, tuple[Template, int]]
    came: Sequence[Came]


def remembered(cluster_id: UUID) -> History:
    """How long runs of the last weeks held quota, the newest few thousand; one query."""
    now = clock.now()
    rows = Allocation.objects.filter(cluster_id=cluster_id, admitted_at__gt=now - REMEMBERED)
    fields = ("tenant_slug", "workload_kind", "variant", "flavor", "image", "admitted_at", "released_at", "why")
    found = rows.order_by("-admitted_at").values_list(*fields)[:MOST_REMEMBERED]
    return History(_intervals(found, now))


def _intervals(rows: Iterable[tuple[Any, ...]], now: datetime) -> Iterable[Interval]:
    for tenant, kind, variant, flavor, image, admitted_at, released_at, why in rows:
        seconds = ((released_at or now) - admitted_at).total_seconds()
        ended = released_at is not None and why in ENDED
        yield Interval(Template(tenant, kind, variant, flavor, image), max(0.0, seconds), ended)


def known_of(standing: Standing, survey: Survey, history: History) -> Known:
    """For every member of ours and for everybody who came, the curve and the limit; and how past forecasts did."""
    live = {one.workload_id for one in standing.members.values() if one.workload_id is not None}
    by_workload = {key: history.length(template) for key, (template, _) in survey.live.items() if key in live}
    arrivals = [
        Arrival(one.at.timestamp(), spec_of(standing, one.asked), history.length(one.template)) for one in survey.came
    ]
    correction = Correction.of(outcomes(standing.cluster_id, clock.now()))
    return Known(by_workload, Past(arrivals[0].at, arrivals) if arrivals else NOBODY, correction)


def scene_of(standing: Standing, known: Known) -> Scene:
    """The standing as the forecast reads it."""
    members = standing.members
    return Scene(
        engine=standing.engine,
        now=standing.now,
        lasted={
            key: max(0.0, standing.now - one.held_since.timestamp()) for key, one in members.items() if one.held_since
        },
        waiting=[key for key, one in members.items() if one.held_since is None],
        lengths={key: _length(known, one) for key, one in members.items()},
        past=known.past,
    )


def _length(known: Known, member: Member) -> Length:
    found = known.by_workload.get(member.workload_id) if member.workload_id else None
    return found or Length(limit_s=member.limit_s)


@dataclass(frozen=True)
class Foreseen:
    """One waiting workload's estimate, and how it was `played` before it was corrected. `member`: its first Kueue
    Workload in line."""

    member: Member
    estimate: Estimate
    played: Estimate


def foresee(standing: Standing, known: Known, scene: Scene) -> dict[UUID, Foreseen]:
    """An estimate for every workload of ours that waits whole.

    Those that the model admits at once (`hasty`) do not wait in its eyes: they are left out.
    """
    holding = {one.workload_id for one in standing.members.values() if one.held_since is not None}
    first: dict[UUID, Member] = {}
    for one in sorted(standing.members.values(), key=lambda member: (-member.priority, member.created, member.key)):
        waits = one.held_since is None and one.key not in standing.hasty
        if waits and one.workload_id is not None and one.workload_id not in holding:
            first.setdefault(one.workload_id, one)
    if not first:
        return {}
    watched = frozenset(one.key for one in first.values())
    found = estimates(scene, watched)
    now, correction = standing.now, known.correction
    return {key: Foreseen(one, correction.applied(found[one.key], now), found[one.key]) for key, one in first.items()}
