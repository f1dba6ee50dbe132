"""What one round of forecasts took for known, as JSON between two rounds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from portal.admission import PodSet, WorkloadSpec
from quotas.planning.arrivals import NOBODY, Arrival, Past
from quotas.planning.correction import AS_PLAYED, Correction, Stretch
from quotas.planning.lengths import Curve, Length

MOST_WRITTEN = 300


@dataclass(frozen=True)
class Known:
    """How long the members of one cluster last, by the id of the workload behind them, who came before, and how bands
    are corrected."""

    by_workload: Mapping[UUID, Length]
    past: Past = NOBODY
    correction: Correction = AS_PLAYED

    def as_json(self) -> dict[str, Any]:
        """Equal curves and equal requests are written once; of who came, the newest few hundred."""
        curves = _Once()
        shapes = _Once()
        arrivals = list(self.past.arrivals)[-MOST_WRITTEN:]
        of = {str(key): _length(one, curves) for key, one in self.by_workload.items()}
        came = [[one.at, shapes.place(_shape(one, curves))] for one in arrivals]
        since = arrivals[0].at if len(arrivals) < len(self.past.arrivals) else self.past.since
        return {
            "curves": [[one.times, one.survival, one.observed] for one in curves.found],
            "of": of,
            "shapes": shapes.found,
            "since": since,
            "came": came,
            "correction": [[one.low, one.high] for one in self.correction.classes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Known:
        """Empty where nothing was written yet."""
        curves = [Curve(tuple(times), tuple(survival), *seen) for times, survival, *seen in data.get("curves", [])]

        def length(written: list[Any]) -> Length:
            place, limit = written
            return Length(None if place is None else curves[place], limit)

        shapes = [_read(shape) for shape in data.get("shapes", [])]
        lengths = [length(shape["length"]) for shape in data.get("shapes", [])]
        arrivals = [Arrival(at, shapes[place], lengths[place]) for at, place in data.get("came", [])]
        of = {UUID(key): length(written) for key, written in data.get("of", {}).items()}
        stretches = tuple(Stretch(low, high) for low, high in data.get("correction", []))
        correction = Correction(stretches) if stretches else AS_PLAYED
        return cls(of, Past(data.get("since", 0.0), arrivals), correction)


@dataclass
class _Once:
    """Values in the order of their first sight."""

    found: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def place(self, value: Any) -> int:
        written = repr(value)
        if written not in self.places:
            self.places[written] = len(self.found)
            self.found.append(value)
        return self.places[written]


def _length(one: Length, curves: _Once) -> list[Any]:
    return [curves.place(one.curve) if one.curve else None, one.limit_s]


def _shape(one: Arrival, curves: _Once) -> dict[str, Any]:
    (podset,) = one.spec.podsets
    return {
        "queue": one.spec.queue,
        "priority": one.spec.priority,
        "count": podset.count,
        "min_count": podset.min_count,
        "requests": dict(podset.requests),
        "flavors": None if podset.flavors_allowed is None else sorted(podset.flavors_allowed),
        "length": _length(one.length, curves),
    }


def _read(shape: Mapping[str, Any]) -> WorkloadSpec:
    allowed = None if shape["flavors"] is None else frozenset(shape["flavors"])
    podset = PodSet("main", shape["count"], shape["requests"], shape["min_count"], allowed)
    return WorkloadSpec("", shape["queue"], shape["priority"], 0.0, (podset,))
