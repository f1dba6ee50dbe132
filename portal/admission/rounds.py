"""Runs cycles over the engine's state until one of them decides something, and carries its verdicts out."""

from portal.admission.cycle import Cycle, Outcome, Verdict
from portal.admission.decisions import Admit, Decision, Evict, EvictionReason
from portal.admission.model import PodSetAssignment, PreemptionPolicy, QueueingStrategy
from portal.admission.prospects import hopeless
from portal.admission.state import State
from portal.admission.tree import Queue
from portal.admission.workloads import Phase, Workload

Heads = list[tuple[Queue, Workload]]


def next_decisions(state: State, now: float) -> list[Decision]:
    """Run cycles until one says something new; empty when no further cycle could."""
    for root in state.due_trees(now):
        _unpark(state, state.forest.trees.get(root, []))
    while state.dirty:
        heads = _heads(state)
        if not heads:
            state.dirty = False
        elif decisions := _run(state, heads, now):
            return decisions
    return []


def _unpark(state: State, queues: list[Queue]) -> None:
    """Bring a tree's parked work back, unless nobody asks why it waits and all of it would be parked again at once."""
    nobody_has_hope = not state.explains and not any(
        queue.active and _any_hope(state, queue) for queue in queues if queue.line.members
    )
    for queue in queues:
        if not (nobody_has_hope and queue.active):
            state.unpark(queue)


def _any_hope(state: State, queue: Queue) -> bool:
    fair = state.fair is not None
    return any(not hopeless(state.forest, queue, workload, fair=fair) for workload in queue.line.fronts())


def _heads(state: State) -> Heads:
    heads: Heads = []
    for name, queue in list(state.ready.items()):
        if state.forest.queues.get(name) is not queue or not queue.active:
            del state.ready[name]
            continue
        head = queue.line.head()
        if head is None:
            del state.ready[name]
        else:
            heads.append((queue, head))
    return heads


def _run(state: State, heads: Heads, now: float) -> list[Decision]:
    state.number += 1
    state.idle_rounds += 1
    decisions: list[Decision] = []
    without_hope: Heads = [] if state.explains else _without_hope(state, heads)
    if len(without_hope) < len(heads):
        for verdict in _cycle(state, heads, without_hope):
            decisions += _apply(state, verdict, now)
    for queue, workload in without_hope:
        _reject(state, queue, workload)
    # A head may go on with its next flavors in the next cycle; when all have had their turn, nothing can change.
    state.dirty = state.idle_rounds <= _flavors_left(heads)
    return decisions


def _without_hope(state: State, heads: Heads) -> Heads:
    """The heads that a cycle would certainly reject. Nobody is told why, so most of them need not be tried."""
    fair = state.fair is not None
    return [(queue, head) for queue, head in heads if hopeless(state.forest, queue, head, fair=fair)]


def _cycle(state: State, heads: Heads, without_hope: Heads) -> list[Verdict]:
    """One cycle of those who have a chance, and of those others who set quota aside in their trees."""
    skipped = {head.spec.key for _, head in without_hope}
    hopeful = [(queue, head) for queue, head in heads if head.spec.key not in skipped]
    trees = {queue.root for queue, _ in hopeful}
    reserving = [
        (queue, head)
        for queue, head in without_hope
        if queue.root in trees and queue.spec.preemption.reclaim_within_cohort is not PreemptionPolicy.ANY
    ]
    verdicts = Cycle(state.forest, state.fair, state.texts(), state.number).run(hopeful, reserving)
    return [verdict for verdict in verdicts if verdict.entry.workload.spec.key not in skipped]


def _reject(state: State, queue: Queue, workload: Workload) -> None:
    workload.scan = None
    if queue.spec.strategy is not QueueingStrategy.STRICT_FIFO:
        queue.line.park(workload)
        state.idle_rounds = 0


def _flavors_left(heads: Heads) -> int:
    resuming = [queue for queue, head in heads if head.scan is not None and head.scan.pending()]
    return max((len(plan.flavors) for queue in resuming for plan in queue.groups.values()), default=0)


def _apply(state: State, verdict: Verdict, now: float) -> list[Decision]:
    workload, queue, search = verdict.entry.workload, verdict.entry.queue, verdict.entry.search
    if verdict.outcome is Outcome.ADMITTED:
        assignment = tuple(
            PodSetAssignment(p.name, {name: choice.flavor for name, choice in p.choices.items()}, p.count)
            for p in search.podsets
        )
        state.hold(workload, assignment, search.usage, now)
        state.idle_rounds = 0
        return [Admit(workload.spec.key, queue.spec.name, assignment)]
    if verdict.outcome is Outcome.PREEMPTING:
        return _preempt(state, verdict)
    workload.scan = search.scan
    strict = queue.spec.strategy is QueueingStrategy.STRICT_FIFO
    resumes = workload.scan is not None and workload.scan.pending()
    if verdict.outcome is Outcome.REJECTED and not strict and not resumes:
        queue.line.park(workload)
        state.idle_rounds = 0
    return state.explain(workload, verdict.message)


def _preempt(state: State, verdict: Verdict) -> list[Decision]:
    workload, queue = verdict.entry.workload, verdict.entry.queue
    workload.scan = None
    if queue.spec.strategy is QueueingStrategy.BEST_EFFORT_FIFO:
        queue.line.sticky = workload.spec.key
    decisions: list[Decision] = []
    for target in verdict.entry.targets:
        victim = target.workload
        if victim.phase is Phase.ADMITTED:
            state.tell_to_go(victim)
            state.idle_rounds = 0
            key = workload.spec.key
            decisions.append(Evict(victim.spec.key, EvictionReason.PREEMPTED, target.reason, key))
    return decisions + state.explain(workload, verdict.message)
