"""When a request that came now would likely start: played by the round of forecasts, read by previews.

In every queue of ours in which nobody waits, a newcomer of each flavor and some sizes is played on. It holds what it
gets for a moment only, so that newcomers do not stand in each other's way. Where somebody waits already, the kept
forecast of the last in line says what a newcomer can expect at best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from itertools import islice
from typing import Any

from portal.admission import PodSet, WorkloadSpec
from quotas.models import ForecastPass
from quotas.planning.correction import Correction
from quotas.planning.forecast import LEAST_SAMPLES, Estimate, Scene, estimates
from quotas.planning.forecasts import Likely, latest
from quotas.planning.lengths import Length
from quotas.planning.preview import Asked
from quotas.planning.standing import Standing

MOST = 60
MOMENT = Length(limit_s=1.0)
PREFIX = "newcomer"
Kept = Mapping[str, Mapping[str, Any]]


def newcomers(standing: Standing, scene: Scene, correction: Correction) -> dict[str, dict[str, Any]]:
    """For each that does not start at once, its estimate as JSON, by queue, flavor and units."""
    engine = standing.engine.fork(explains=False, instant_release=True)
    specs = list(islice(_specs(standing, scene), MOST))
    for spec in specs:
        engine.submit(spec)
    engine.settle(standing.now)
    waiting = frozenset(spec.key for spec in specs) & frozenset(
        key for queue in {spec.queue for spec in specs} for key in engine.pending_order(queue)
    )
    if not waiting:
        return {}
    engine = standing.engine.fork(explains=False, instant_release=True)
    for spec in specs:
        if spec.key in waiting:
            engine.submit(spec)
    lengths = {**scene.lengths, **dict.fromkeys(waiting, MOMENT)}
    played = replace(scene, engine=engine, waiting=[*scene.waiting, *sorted(waiting)], lengths=lengths)
    found = estimates(played, waiting, samples=LEAST_SAMPLES)
    return {key: asdict(correction.applied(one, standing.now)) for key, one in found.items()}


def _specs(standing: Standing, scene: Scene) -> Iterator[WorkloadSpec]:
    """One card, two, four … up to the most that the queue can have, with the priority that was asked for last."""
    priorities = {one.spec.queue: one.spec.priority for one in scene.past.arrivals}
    for queue in sorted({one.queue for one in standing.members.values() if one.workload_id} | set(priorities)):
        if queue in standing.specs and not standing.waiting(queue):
            for flavor, resource in _cells(standing, queue):
                units, most = 1, standing.engine.maximum(queue, flavor, resource)
                while units <= most:
                    podset = PodSet("main", 1, {resource: units}, None, standing.allowed(queue, flavor, resource))
                    key = _key(queue, flavor, units)
                    yield WorkloadSpec(key, queue, priorities.get(queue, 0), standing.now, (podset,))
                    units *= 2


def _cells(standing: Standing, queue: str) -> Iterator[tuple[str, str]]:
    for group in standing.specs[queue].resource_groups:
        for flavor in group.flavors:
            yield from ((flavor.name, name) for name in flavor.resources if name not in ("cpu", "memory", "pods"))


def _key(queue: str, flavor: str, units: int) -> str:
    return f"{PREFIX}/{queue}/{flavor}/{units}"


def foresee_request(standing: Standing, asked: Asked) -> Estimate | None:
    """When a request that would wait would likely start, from what the last round kept; None where it kept nothing."""
    row = ForecastPass.objects.filter(cluster_id=standing.cluster_id).first()
    if row is None:
        return None
    line = [one for one in standing.waiting(asked.queue) if one.priority >= asked.priority]
    before = [one.workload_id for one in line if one.workload_id is not None]
    if before:
        return _as_estimate(latest(before[-1:]).get(before[-1]))
    kept: Kept = row.durations.get("newcomers", {})
    units = 1
    while units < asked.units:
        units *= 2
    found = kept.get(_key(asked.queue, asked.flavor, units))
    return Estimate(**found) if found else None


def _as_estimate(found: Likely | None) -> Estimate | None:
    if found is None:
        return None
    p10, p50, p90 = (_seconds(at) for at in (found.p10, found.p50, found.p90))
    return Estimate(p10, p50, p90, found.basis, found.why)


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
