"""Runs cycles over the engine's state until one of them decides something, and carries its verdicts out."""

from portal.admission.cycle import Cycle, Outcome, Verdict
from portal.admission.decisions import Admit, Decision, Evict, EvictionReason
from portal.admission.judging import Judge
from portal.admission.model import PreemptionPolicy
from portal.admission.nomination import nominate
from portal.admission.prospects import any_hope, hopeless
from portal.admission.queue import Queue
from portal.admission.singles import rejected_single
from portal.admission.state import State
from portal.admission.tree import Tree
from portal.admission.turns import Entry
from portal.admission.workloads import FlavorScan, Workload

Heads = list[tuple[Queue, Workload]]


def next_decisions(state: State, now: float) -> list[Decision]:
    """Run cycles until one says something new; empty when no further cycle could."""
    if state.due:
        for root in state.due_trees(now):
            tree = state.forest.trees.get(root)
            if tree is not None and tree.any_parked:
                _unpark(state, tree)
    while state.dirty:
        heads = _heads(state)
        if not heads:
            state.dirty = False
        elif decisions := _run(state, heads, now):
            return decisions
    return []


def _unpark(state: State, tree: Tree) -> None:
    """Bring a tree's parked work back, unless nobody asks why it waits and all of it would be parked again at once."""
    if not state.explains and not any_hope(tree, state.scans, fair=state.judge.fair is not None):
        for queue in tree.queues:
            if not queue.active:
                state.unpark(queue)
        return
    tree.any_parked = False
    for queue in tree.queues:
        if queue.line.any_parked:
            state.unpark(queue)


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
    hopeful, without_hope = (heads, []) if state.explains else _by_hope(state, heads)
    if hopeful:
        for verdict in _cycle(state, hopeful, without_hope):
            decisions += _apply(state, verdict, now)
    for queue, workload in without_hope:
        _reject(state, queue, workload)
    # A head may go on with its next flavors in the next cycle; when all have had their turn, nothing can change.
    state.dirty = state.idle_rounds <= _flavors_left(state, heads)
    return decisions


def _by_hope(state: State, heads: Heads) -> tuple[Heads, Heads]:
    """The heads that may get something, and those that a cycle would certainly reject.

    Nobody is told why they are, so most of them need not be tried.
    """
    fair, busy = state.judge.fair is not None, state.scans
    hopeful: Heads = []
    without_hope: Heads = []
    for queue, head in heads:
        if head.key in busy or not hopeless(queue, head.shape, fair=fair):
            hopeful.append((queue, head))
        else:
            without_hope.append((queue, head))
    return hopeful, without_hope


def _cycle(state: State, heads: Heads, without_hope: Heads) -> list[Verdict]:
    """One cycle of those who have a chance, and of those others who set quota aside in their trees."""
    judge, text = state.judge, state.text
    judge.open_book()
    entries = [nominate(judge, queue, head, _scan(state, queue, head), text) for queue, head in heads]
    if not without_hope:
        return Cycle(state.forest, judge).run(entries)
    trees = {queue.tree for queue, _ in heads}
    reserving = [
        _rejected(judge, queue, head)
        for queue, head in without_hope
        if queue.tree in trees and queue.spec.preemption.reclaim_within_cohort is not PreemptionPolicy.ANY
    ]
    verdicts = Cycle(state.forest, judge).run(entries + reserving)
    return [verdict for verdict in verdicts if verdict.entry not in reserving] if reserving else verdicts


def _rejected(judge: Judge, queue: Queue, head: Workload) -> Entry:
    """The entry of somebody who is certain to be rejected."""
    ask = queue.ask(head.shape)
    if ask.singles is None or queue.pool is None:
        return nominate(judge, queue, head, None, None)
    return Entry(queue, head, rejected_single(queue, head, ask, judge), [])


def _scan(state: State, queue: Queue, head: Workload) -> FlavorScan | None:
    """Where the head's search goes on, unless capacity came back since and it starts over."""
    scan = state.scans.get(head.key) if state.scans else None
    if scan is not None and state.number - scan.cycle > 1 and queue.generation > scan.generation:
        return None
    return scan


def _reject(state: State, queue: Queue, workload: Workload) -> None:
    state.scans.pop(workload.key, None)
    if not queue.strict:
        queue.park(workload)
        state.idle_rounds = 0


def _flavors_left(state: State, heads: Heads) -> int:
    busy = state.scans
    if not busy:
        return 0
    resuming = [queue for queue, head in heads if head.key in busy]
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
        queue.park(workload)
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
