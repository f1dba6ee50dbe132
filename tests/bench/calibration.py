"""How true forecasts of likely starts come, on weeks of made-up but realistic work.

    python -m tests.bench.calibration [seed …]

Teams with day and night, habits with log-normal lengths of their own (some with a time limit, some with notebooks
that last for hours), one cohort that lends and takes back. The true lengths are known to the player alone. Every eighth
wait gets the forecast that Turno would have kept first, from what had ended by then, corrected by the outcomes that
were known by then; the first week only makes history, and the forecasts of its second half only outcomes. The same
code forecasts and corrects as in production; only the world is played instead of mirrored.
"""

from __future__ import annotations

import heapq
import math
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time

import django

from portal.admission import (
    Admit,
    ClusterQueueSpec,
    Engine,
    Evict,
    FlavorQuota,
    PodSet,
    Preemption,
    PreemptionPolicy,
    QuotaCell,
    ResourceGroup,
    WorkloadSpec,
)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
os.environ.setdefault("TURNO_SECRET_KEY", "bench")
django.setup()

from quotas.planning.arrivals import NOBODY, Arrival, Past  # noqa: E402  needs Django's registry
from quotas.planning.correction import Correction, Outcome  # noqa: E402  needs Django's registry
from quotas.planning.forecast import Estimate, Scene, estimates  # noqa: E402  needs Django's registry
from quotas.planning.lengths import History, Interval, Template  # noqa: E402

GPU = "nvidia.com/gpu"
HOUR, DAY = 3600.0, 86_400.0
TEAMS, FLAVORS, NOMINAL = 4, ("h100", "a100"), 4
LOAD = 0.78  # of all cards, on average over day and night
TOLD_FROM_DAY, WARM_UP_DAYS, JUDGED_DAYS = 3, 7, 7
SAMPLES = 30
EVERY = 8  # of those who begin to wait, every so many gets a forecast
RELEARN = 6 * HOUR
SEEDS = (11, 12, 13)  # 1 to 5 were looked at while the forecast was made
ENDS = ("p10", "p50", "p90")
RULES = Preemption(within_queue=PreemptionPolicy.LOWER_PRIORITY, reclaim_within_cohort=PreemptionPolicy.ANY)


@dataclass(frozen=True)
class Habit:
    """What somebody does again and again: so often a day, so long (median, spread of the logarithm)."""

    template: Template
    gpus: int
    priority: int
    a_day: float
    median_s: float
    spread: float
    by_day: bool

    @property
    def work_a_day(self) -> float:
        """GPU-seconds."""
        return self.a_day * self.gpus * self.median_s * math.exp(self.spread**2 / 2)


@dataclass(frozen=True)
class Ask:
    """One request; `length` is what nobody knows beforehand."""

    key: str
    at: float
    habit: Habit
    length: float

    def spec(self) -> WorkloadSpec:
        habit = self.habit
        podset = PodSet("main", 1, {GPU: habit.gpus}, None, frozenset({habit.template.flavor}))
        return WorkloadSpec(self.key, habit.template.tenant, habit.priority, self.at, (podset,))


def habits(dice: random.Random) -> list[Habit]:
    """Two to four ways of training and one of interactive work per team; together a little less than there is."""
    found = list(_wishes(dice))
    fitted = []
    for flavor in FLAVORS:
        mine = [one for one in found if one.template.flavor == flavor]
        factor = LOAD * TEAMS * NOMINAL * DAY / sum(one.work_a_day for one in mine)
        fitted += [replace(one, a_day=one.a_day * factor) for one in mine]
    return fitted


def _wishes(dice: random.Random) -> Iterator[Habit]:
    for team in range(TEAMS):
        for number in range(dice.randint(2, 4)):
            median = math.exp(dice.uniform(math.log(600), math.log(6 * HOUR)))
            spread, gpus = dice.uniform(0.3, 1.1), dice.choice((1, 1, 2, 4))
            limit = 3 * median if dice.random() < 0.4 else None
            flavor = dice.choice(FLAVORS)
            template = Template(f"team-{team}", "training", f"f{number}", flavor, f"i{number}", limit)
            hours = dice.uniform(25, 60)  # GPU-hours a day
            a_day = hours * HOUR / (gpus * median * math.exp(spread**2 / 2))
            priority = dice.choice((0, 100, 100, 1000))
            yield Habit(template, gpus, priority, a_day, median, spread, number % 2 == 0)
        notebook = Template(f"team-{team}", "notebook", "lab", dice.choice(FLAVORS), "jupyter")
        yield Habit(notebook, 1, 100, dice.uniform(1, 4), 5 * HOUR, 0.8, by_day=True)


def asks(habits: list[Habit], days: int, dice: random.Random) -> list[Ask]:
    """Who asks when: more by day than by night for some, evenly for those that a pipeline sends."""
    found: list[Ask] = []
    for place, habit in enumerate(habits):
        at, most = 0.0, 2.0 if habit.by_day else 1.0
        while (at := at + dice.expovariate(habit.a_day * most / DAY)) < days * DAY:
            busy = 1 + math.sin(2 * math.pi * (at / DAY - 0.33)) if habit.by_day else 1.0
            if dice.random() < busy / most:
                length = max(20.0, habit.median_s * math.exp(dice.gauss(0, habit.spread)))
                limit = habit.template.limit_s
                found.append(Ask(f"w{place}-{len(found)}", at, habit, min(length, limit or length)))
    return sorted(found, key=lambda ask: ask.at)


def empty() -> Engine:
    engine = Engine(instant_release=True, explains=False)
    group = ResourceGroup((GPU,), tuple(FlavorQuota(name, {GPU: QuotaCell(NOMINAL)}) for name in FLAVORS))
    for team in range(TEAMS):
        spec = ClusterQueueSpec(f"team-{team}", "lab", preemption=RULES, resource_groups=(group,))
        engine.upsert_queue(spec, 0.0)
    engine.settle(0.0)
    return engine


@dataclass
class World:
    """The true course of things, event by event; and what an observer of it knows."""

    coming: list[Ask]
    engine: Engine = field(default_factory=empty)
    now: float = 0.0
    asked: dict[str, Ask] = field(default_factory=dict)
    held: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    ends: list[tuple[float, str, float]] = field(default_factory=list)
    past: list[Interval] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)  # the first start

    def play(self) -> Iterator[list[Ask]]:
        """After everything that happens at one moment: who asked then and waits now."""
        self.coming.reverse()
        while self.coming or self.ends:
            times = [one for one in (self.engine.next_due(),) if one is not None]
            times += [self.coming[-1].at] if self.coming else []
            times += [self.ends[0][0]] if self.ends else []
            self.now = max(self.now, min(times))
            new = self._ask()
            self._end()
            self._decide()
            yield [ask for ask in new if ask.key in self.waiting]

    def _ask(self) -> list[Ask]:
        new = []
        while self.coming and self.coming[-1].at <= self.now:
            ask = self.coming.pop()
            new.append(ask)
            self.asked[ask.key] = ask
            self.waiting[ask.key] = None
            self.engine.submit(ask.spec())
        return new

    def _end(self) -> None:
        while self.ends and self.ends[0][0] <= self.now:
            _, key, since = heapq.heappop(self.ends)
            if self.held.get(key) == since:
                self.engine.delete(key, self.now)
                self._note(key, ended=True)

    def _note(self, key: str, *, ended: bool) -> None:
        self.past.append(Interval(self.asked[key].habit.template, self.now - self.held.pop(key), ended))

    def _decide(self) -> None:
        while decisions := self.engine.cycle(self.now):
            for one in decisions:
                if isinstance(one, Admit):
                    del self.waiting[one.key]
                    self.held[one.key] = self.now
                    self.started.setdefault(one.key, self.now)
                    heapq.heappush(self.ends, (self.now + self.asked[one.key].length, one.key, self.now))
                elif isinstance(one, Evict):
                    self._note(one.key, ended=False)
                    self.waiting[one.key] = None

    def history(self) -> History:
        running = [Interval(self.asked[key].habit.template, self.now - at, False) for key, at in self.held.items()]
        return History([*self.past[-5000:], *running])

    def came(self, history: History) -> Past:
        """The requests of the last week."""
        since = max(0.0, self.now - 7 * DAY)
        recent = [ask for ask in self.asked.values() if ask.at >= since]
        return Past(since, [Arrival(ask.at, ask.spec(), history.length(ask.habit.template)) for ask in recent])

    def scene(self, history: History, past: Past) -> Scene:
        return Scene(
            self.engine,
            self.now,
            {key: self.now - at for key, at in self.held.items()},
            list(self.waiting),
            {key: history.length(self.asked[key].habit.template) for key in (*self.held, *self.waiting)},
            past,
        )


@dataclass(frozen=True)
class Told:
    """One forecast as it was played, and when the wait ended; None: it never did."""

    made: float
    played: Estimate
    started: float | None

    def known_at(self, now: float) -> Outcome | None:
        """What was known of it at a moment: its start, or that it had not started although its band was over."""
        one = self.played
        if one.p10 is None or one.p50 is None or one.p90 is None:
            return None
        if self.started is not None and self.started <= now:
            return Outcome(self.made, one.p10, one.p50, one.p90, self.started)
        return Outcome(self.made, one.p10, one.p50, one.p90, now) if one.p90 < now else None


@dataclass(frozen=True)
class Pair:
    """A forecast that was said, and the start."""

    said: Estimate
    made: float
    started: float

    def by(self, name: str) -> bool:
        end: float = getattr(self.said, name)
        return self.started - 0.5 <= end

    @property
    def within(self) -> bool:
        return self.by("p90") and self.said.p10 is not None and self.said.p10 <= self.started + 0.5


@dataclass
class Tally:
    """Forecasts of one course of things, in order of time. `seconds`: of processor, for all of them."""

    told: list[Told] = field(default_factory=list)
    seconds: float = 0.0

    def pairs(self, *, corrects: bool) -> list[Pair]:
        """Those of the judged days that were followed by a start."""
        found = []
        for one in self.told:
            if one.made >= WARM_UP_DAYS * DAY and one.started is not None and one.played.p50 is not None:
                said = self._corrected(one) if corrects else one.played
                found.append(Pair(said, one.made, one.started))
        return found

    def _corrected(self, one: Told) -> Estimate:
        known = [outcome for other in self.told if other.made < one.made and (outcome := other.known_at(one.made))]
        known.sort(key=lambda outcome: outcome.started)
        return Correction.of(known).applied(one.played, one.made)

    @property
    def unsaid(self) -> int:
        return sum(one.played.p50 is None for one in self.told if one.made >= WARM_UP_DAYS * DAY)


def tally(seed: int) -> Tally:
    """Forecasts from the warm-up's second half on. Tells on stderr how far it is."""
    dice = random.Random(seed)
    world = World(asks(habits(dice), WARM_UP_DAYS + JUDGED_DAYS, dice))
    found, made = Tally(), list[tuple[Ask, Estimate, float]]()
    learned, history, past, waits = -RELEARN, History([]), NOBODY, 0
    for new in world.play():
        if not new or not TOLD_FROM_DAY * DAY <= world.now <= (WARM_UP_DAYS + JUDGED_DAYS) * DAY:
            continue
        if world.now - learned > RELEARN:
            learned, history = world.now, world.history()
            past = world.came(history)
            print(f"seed {seed}, day {world.now / DAY:.1f}, {found.seconds:.0f} s CPU", file=sys.stderr)
        for ask in new:
            waits += 1
            if waits % EVERY == 0:
                began = process_time()
                told = estimates(world.scene(history, past), frozenset({ask.key}), samples=SAMPLES)[ask.key]
                found.seconds += process_time() - began
                made.append((ask, told, world.now))
    found.told = [Told(at, told, world.started.get(ask.key)) for ask, told, at in made]
    return found


def main(seeds: list[int]) -> None:
    began, played, said = perf_counter(), list[Pair](), list[Pair]()
    for seed in seeds or SEEDS:
        found = tally(seed)
        as_played, corrected = found.pairs(corrects=False), found.pairs(corrects=True)
        cost = 1000 * found.seconds / max(len(found.told), 1)
        print(f"seed {seed} as played: {line(as_played)}; {found.unsaid} unsaid; {cost:.0f} ms CPU each")
        print(f"seed {seed} corrected: {line(corrected)}", flush=True)
        played += as_played
        said += corrected
    print(f"all as played: {line(played)}")
    print(f"all corrected: {line(said)}   ({perf_counter() - began:.0f} s)")


def line(pairs: list[Pair]) -> str:
    """The shares of one set of forecasts."""
    if not pairs:
        return "nothing judged"
    waits = sorted(one.started - one.made for one in pairs)
    shares = ", ".join(f"by {name} {sum(one.by(name) for one in pairs) / len(pairs):.1%}" for name in ENDS)
    within = sum(one.within for one in pairs) / len(pairs)
    median = waits[len(waits) // 2] / 60
    return f"{len(pairs)} judged, within p10-p90 {within:.1%}, {shares}; median wait {median:.0f} min"


if __name__ == "__main__":
    main([int(one) for one in sys.argv[1:] if one.isdigit()])
