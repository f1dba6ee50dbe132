"""Playing an engine on in time: who is admitted when, if everything lasts as long as somebody says.

`Replay` plays arrivals and ends, from an empty cluster (a month of history) or from where an engine stands.
`replay_forward` answers the question of a forecast from it: when would these be admitted, if those lasted so long?
"""

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush

from portal.admission.decisions import Admit, Decision, Evict
from portal.admission.engine import LOOP_EVICTIONS, Engine
from portal.admission.model import WorkloadSpec

Watcher = Callable[[float, Decision], bool]


class Replay:
    """Plays workloads on an engine, which it changes; the engine must have been made with `instant_release`.

    `durations` are the seconds for which a workload holds quota, counted from each of its admissions, or from `now` if
    it holds quota already; a workload without one never ends. `arrivals` are submitted at their `created` times.
    """

    def __init__(
        self,
        engine: Engine,
        durations: Mapping[str, float],
        now: float,
        arrivals: Iterable[WorkloadSpec] = (),
    ) -> None:
        self._engine = engine
        self._durations = durations
        self._now = now
        self._arrivals = sorted(arrivals, key=lambda spec: spec.created, reverse=True)
        self._ends = [(now + durations[key], 0, key) for key in engine.holding() if key in durations]
        heapify(self._ends)
        # How often a workload was admitted or evicted: an end counts only for the admission that it belongs to.
        self._lives: dict[str, int] = {}

    def run(self, until: float, watch: Watcher) -> None:
        """Play until a time, until nothing is left to happen, or until `watch` (time, decision) says that it has seen
        enough. A replay that came to `until` may be run on."""
        engine, arrivals, ends = self._engine, self._arrivals, self._ends
        while not self._decide(watch):
            at = engine.next_due()
            if arrivals and (at is None or arrivals[-1].created < at):
                at = arrivals[-1].created
            if ends and (at is None or ends[0][0] < at):
                at = ends[0][0]
            if at is None or at > until:
                return
            self._now = now = max(at, self._now)
            while arrivals and arrivals[-1].created <= now:
                engine.submit(arrivals.pop())
            while ends and ends[0][0] <= now:
                _, life, key = heappop(ends)
                if self._lives.get(key, 0) == life:
                    engine.finish(key, now)

    def _decide(self, watch: Watcher) -> bool:
        """Cycle until nothing more is decided; whether the watcher has seen enough. A preemption loop is broken off."""
        now = self._now
        preempted: dict[str, int] = {}
        while decisions := self._engine.cycle(now):
            for decision in decisions:
                if isinstance(decision, Admit):
                    self._begin(decision.key, now)
                elif isinstance(decision, Evict):
                    key = decision.key
                    self._lives[key] = self._lives.get(key, 0) + 1
                    preempted[key] = preempted.get(key, 0) + 1
                if watch(now, decision):
                    return True
            if preempted and max(preempted.values()) > LOOP_EVICTIONS:
                return False
        return False

    def _begin(self, key: str, now: float) -> None:
        life = self._lives[key] = self._lives.get(key, 0) + 1
        duration = self._durations.get(key)
        if duration is not None:
            heappush(self._ends, (now + duration, life, key))


def replay_forward(
    engine: Engine,
    durations: Mapping[str, float],
    now: float,
    until: float,
    watch: frozenset[str],
    arrivals: Iterable[WorkloadSpec] = (),
) -> dict[str, float]:
    """When each of the watched workloads is admitted first, if everything lasts as long as `durations` say.

    The engine stays as it is; the answer holds those of `watch` that are admitted from `now` until `until` (same clock
    as the engine's, seconds). `durations`, `arrivals`: see `Replay`. The replay ends as soon as all watched ones are
    in. Times are those at which quota is reserved; a workload that is evicted later has still been admitted first then.
    """
    missing = set(watch)
    admitted: dict[str, float] = {}
    if not missing:
        return admitted

    def see(at: float, decision: Decision) -> bool:
        if isinstance(decision, Admit) and decision.key in missing:
            missing.discard(decision.key)
            admitted[decision.key] = at
        return not missing

    Replay(engine.fork(explains=False, instant_release=True), durations, now, arrivals).run(until, see)
    return admitted
