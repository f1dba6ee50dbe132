"""Who may come while somebody waits: what came in past days, drawn again. Pure; times in seconds.

Work that arrives later can start earlier (a higher priority, a smaller size, a team within its own quota), so a
forecast without it promises too much. Whole stretches of the past are drawn, so that what comes together stays
together; with two days of past or more they are days that begin at this time of day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

from portal.admission import WorkloadSpec
from quotas.planning.lengths import NEVER_ENDS, Length

DAY = 86_400.0
LEAST_ARRIVALS, MOST_ARRIVALS = 5, 400
AHEAD_S = DAY
LEAST_SPAN_S = 60.0


@dataclass(frozen=True)
class Arrival:
    """One past request: when it came, what it asked for, what is known of how long such work lasts."""

    at: float
    spec: WorkloadSpec
    length: Length = NEVER_ENDS


@dataclass(frozen=True)
class Past:
    """All requests from `since` on, in order of time."""

    since: float
    arrivals: Sequence[Arrival] = ()

    @cached_property
    def _times(self) -> list[float]:
        return [one.at for one in self.arrivals]

    def again(self, now: float, rng: Random, *, ahead: float = AHEAD_S) -> Iterator[Arrival]:
        """What may come from `now` on, so many seconds ahead, with times from then on and keys of its own."""
        span = now - self.since
        if len(self.arrivals) < LEAST_ARRIVALS or span < LEAST_SPAN_S:
            return
        days = int(span // DAY)
        block = DAY if days >= 2 else span / 2
        times = self._times
        start, number = 0.0, 0
        while start < ahead:
            begin = now - DAY * rng.randint(1, days) if days >= 2 else self.since + rng.random() * (span - block)
            for one in self.arrivals[bisect_left(times, begin) : bisect_left(times, begin + block)]:
                if number == MOST_ARRIVALS:
                    return
                number += 1
                at = now + start + one.at - begin
                if at > now + ahead:
                    return
                spec = one.spec
                again = WorkloadSpec(f"arrival-{number}", spec.queue, spec.priority, at, spec.podsets)
                yield Arrival(at, again, one.length)
            start += block


NOBODY = Past(0.0)
