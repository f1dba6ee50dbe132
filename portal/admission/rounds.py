"""Runs cycles over the engine's state until one of them decides something, and carries its verdicts out."""

from portal.admission.cycle import Cycle, Outcome, Verdict
from portal.admission.decisions import Admit, Decision, Evict, EvictionReason
from portal.admission.model import PreemptionPolicy
from portal.admission.nomination import nominate
from portal.admission.prospects import hopeless
from portal.admission.queue import Queue
from portal.admission.state import State
from portal.admission.workloads import FlavorScan, Workload

Heads = list[tuple[Queue, Workload]]


def next_decisions(state: State, now: float) -> list[Decision]:
    """Run cycles until one says something new; empty when no further cycle could."""
    if state.due:
        for root in state.due_trees(now):
            tree = state.forest.trees.get(root)
            _unpark(state, [] if tree is None else tree.queues)
    while state.dirty:
        heads = _heads(state)
        if not heads:
            state.dirty = False
        elif decisions := _run(state, heads, now):
            return decisions
    return []


def _unpark(state: State, queues: list[Queue]) -> None:
    """Bring a tree's parked work back, unless nobody asks why it waits and all of it would be parked again at once."""
    if not any(queue.line.any_parked for queue in queues):
        return
    nobody_has_hope = not state.explains and not any(
        queue.active and _any_hope(state, queue) for queue in queues if queue.line.members
    )
    for queue in queues:
        if not (nobody_has_hope and queue.active):
            state.unpark(queue)


def _any_hope(state: State, queue: Queue) -> bool:
    return any(not _hopeless(state, queue, workload) for workload in queue.line.fronts())


def _hopeless(state: State, queue: Queue, workload: Workload) -> bool:
    scan = state.scans.get(workload.key) if state.scans else None
    if scan is not None and scan.pending():
        return False
    return hopeless(queue, workload, fair=state.judge.fair is not None)


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
    state.dirty = state.idle_rounds <= _flavors_left(state, heads)
    return decisions


def _without_hope(state: State, heads: Heads) -> Heads:
    """The heads that a cycle would certainly reject. Nobody is told why, so most of them need not be tried."""
    return [(queue, head) for queue, head in heads if _hopeless(state, queue, head)]


def _cycle(state: State, heads: Heads, without_hope: Heads) -> list[Verdict]:
    """One cycle of those who have a chance, and of those others who set quota aside in their trees."""
    if without_hope:
        skipped = {head.key for _, head in without_hope}
        hopeful = [(queue, head) for queue, head in heads if head.key not in skipped]
        trees = {queue.tree for queue, _ in hopeful}
        heads = hopeful + [
            (queue, head)
            for queue, head in without_hope
            if queue.tree in trees and queue.spec.preemption.reclaim_within_cohort is not PreemptionPolicy.ANY
        ]
    judge, text = state.judge, state.text
    judge.open_book()
    entries = [nominate(judge, queue, head, _scan(state, queue, head), text) for queue, head in heads]
    verdicts = Cycle(state.forest, judge).run(entries)
    if without_hope:
        verdicts = [verdict for verdict in verdicts if verdict.entry.workload.key not in skipped]
    return verdicts


def _scan(state: State, queue: Queue, head: Workload) -> FlavorScan | None:
    """Where the head's search goes on, unless capacity came back since and it starts over."""
    scan = state.scans.get(head.key) if state.scans else None
    if scan is not None and state.number - scan.cycle > 1 and queue.generation > scan.generation:
        return None
    return scan


def _reject(state: State, queue: Queue, workload: Workload) -> None:
    state.scans.pop(workload.key, None)
    if not queue.strict:
        queue.line.park(workload)
        state.idle_rounds = 0


def _flavors_left(state: State, heads: Heads) -> int:
    scans = state.scans
    if not scans:
        return 0
    resuming = [queue for queue, head in heads if head.key in scans and scans[head.key].pending()]
    return max((len(plan.flavors) for queue in resuming for plan in queue.plans), default=0)


def _apply(state: State, verdict: Verdict, now: float) -> list[Decision]:
    if verdict.outcome is Outcome.ADMITTED:
        return [_admit(state, verdict, now)]
    if verdict.outcome is Outcome.PREEMPTING:
        return _preempt(state, verdict)
    workload, queue, search = verdict.entry.workload, verdict.entry.queue, verdict.entry.search
    resumes = search.resumes()
    if resumes:
        state.scans[workload.key] = FlavorScan(search.tried, queue.generation, state.number)
    else:
        state.scans.pop(workload.key, None)
    if verdict.outcome is Outcome.REJECTED and not queue.strict and not resumes:
        queue.line.park(workload)
        state.idle_rounds = 0
    return state.explain(workload.key, verdict.message)


def _admit(state: State, verdict: Verdict, now: float) -> Admit:
    entry, search = verdict.entry, verdict.entry.search
    state.hold(entry.workload, search.assignment, search.usage, now)
    state.idle_rounds = 0
    return Admit(entry.workload.key, entry.queue.spec.name, search.assignment)


def _preempt(state: State, verdict: Verdict) -> list[Decision]:
    key, queue = verdict.entry.workload.key, verdict.entry.queue
    state.scans.pop(key, None)
    if not queue.strict:
        queue.line.sticky = key
    decisions: list[Decision] = []
    for target in verdict.entry.targets:
        victim = target.holder
        if victim.key not in state.forest.leaving:
            state.tell_to_go(victim)
            state.idle_rounds = 0
            decisions.append(Evict(victim.key, EvictionReason.PREEMPTED, target.reason, key))
    return decisions + state.explain(key, verdict.message)
