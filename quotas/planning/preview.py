"""What admission would decide about a request now: one fork of the standing engine per question, nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from portal.admission import Admit, Evict, PodSet, WorkloadSpec
from quotas.planning.standing import Member, Standing

KEY = "preview"
LATEST = 10_000_000_000.0  # created after everybody who waits
Verdict = Literal["starts_now", "waits", "borrows", "preempts", "never"]


@dataclass(frozen=True)
class Asked:
    """A request in the model's words: `flavor` and `queue` are the cluster's own names, `requests` per pod.

    `resource`: the GPU resource that the answer is about (`cpu` for the CPU flavor).
    """

    queue: str
    flavor: str
    resource: str
    pods: int
    min_pods: int | None
    requests: Mapping[str, int]
    priority: int

    @property
    def units(self) -> int:
        return self.requests.get(self.resource, 0) * self.pods


@dataclass(frozen=True)
class Preview:
    """The decision. `borrows`: units by the lending ClusterQueue; `preempts`: who would be evicted; `ahead`: who is
    tried before it in the cohort; `available`: units that could be had now without evicting anybody."""

    verdict: Verdict
    position: int | None = None
    borrows: Mapping[str, int] = field(default_factory=dict)
    preempts: tuple[Member, ...] = ()
    pods: int = 0
    maximum: int | None = None
    ahead: tuple[Member, ...] = ()
    available: int = 0


def preview(standing: Standing, asked: Asked) -> Preview:
    """Starts now, borrows, preempts, waits at a position, or can never run."""
    most = standing.engine.maximum(asked.queue, asked.flavor, asked.resource)
    if asked.units > most and asked.min_pods is None:
        return Preview("never", maximum=most)
    engine = standing.engine.fork(explains=False, instant_release=True)
    before = _borrowed(engine.usage(asked.queue), asked)
    engine.submit(spec_of(standing, asked))
    decisions = [decision for _, decision in engine.settle(standing.now).decisions]
    admitted = next((d for d in decisions if isinstance(d, Admit) and d.key == KEY), None)
    if admitted is None:
        order = engine.pending_order(asked.queue)
        place = order.index(KEY) + 1 if KEY in order else None
        ahead = [one for one in standing.waiting_in_cohort(asked.queue) if one.priority >= asked.priority]
        return Preview("waits", position=place, ahead=tuple(ahead))
    pods = sum(podset.count for podset in admitted.assignment)
    victims = [d.key for d in decisions if isinstance(d, Evict) and d.by == KEY]
    if victims:
        preempted = tuple(standing.members[key] for key in victims if key in standing.members)
        return Preview("preempts", preempts=preempted, pods=pods)
    borrowed = _borrowed(engine.usage(asked.queue), asked) - before
    if borrowed > 0:
        return Preview("borrows", borrows=_lenders(standing, asked, borrowed), pods=pods)
    available = standing.engine.available(asked.queue, asked.flavor, asked.resource)
    return Preview("starts_now", pods=pods, available=available)


def spec_of(standing: Standing, asked: Asked) -> WorkloadSpec:
    """The request as the model takes it: behind everybody who waits."""
    allowed = standing.allowed(asked.queue, asked.flavor, asked.resource)
    podset = PodSet("main", asked.pods, asked.requests, asked.min_pods, allowed)
    return WorkloadSpec(KEY, asked.queue, asked.priority, LATEST, (podset,))


def _borrowed(usage: Mapping[str, Mapping[str, tuple[int, int]]], asked: Asked) -> int:
    return usage.get(asked.flavor, {}).get(asked.resource, (0, 0))[1]


def _lenders(standing: Standing, asked: Asked, units: int) -> dict[str, int]:
    """From whose unused quota it would come: the queues of the cohort with the most of it first."""
    root = standing.roots.get(asked.queue)
    unused: Counter[str] = Counter()
    for queue in (name for name, r in standing.roots.items() if r == root and name != asked.queue):
        spare = standing.lendable(queue, asked.flavor, asked.resource)
        if spare > 0:
            unused[queue] = spare
    found: dict[str, int] = {}
    for queue, spare in sorted(unused.items(), key=lambda item: (-item[1], item[0])):
        taken = min(spare, units)
        if taken:
            found[queue] = taken
            units -= taken
    return found


@dataclass(frozen=True)
class Change:
    """One way to ask differently, and what would come of it."""

    change: Mapping[str, object]
    verdict: Verdict


def alternatives(
    standing: Standing,
    candidates: Iterable[tuple[Mapping[str, object], Asked]],
    *,
    fits: Callable[[Asked], bool] = lambda _: True,
    most: int = 3,
) -> list[Change]:
    """The first few of the candidates that would start now, without borrowing or taking anything from anybody first.

    `fits`: whether there are nodes for it.
    """
    found: list[Change] = []
    for change, asked in candidates:
        if not fits(asked):
            continue
        verdict = preview(standing, asked).verdict
        if verdict in ("starts_now", "borrows"):
            found.append(Change(change, verdict))
        if len([one for one in found if one.verdict == "starts_now"]) >= most:
            break
    return sorted(found, key=lambda one: one.verdict != "starts_now")[:most]


def with_units(asked: Asked, units: int) -> Asked:
    """The same request with another number of units per pod."""
    return replace(asked, requests={**asked.requests, asked.resource: units})
