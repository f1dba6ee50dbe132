"""Runs cycles over the engine's state until one of them decides something, and carries its verdicts out."""

from portal.admission.cycle import Cycle
from portal.admission.decisions import Admit, Decision, Evict, EvictionReason
from portal.admission.judgements import Mode, Search
from portal.admission.judging import Judge
from portal.admission.model import PreemptionPolicy
from portal.admission.nomination import nominate
from portal.admission.prospects import any_hope, hopeless
from portal.admission.queue import Queue
from portal.admission.singles import rejected_single
from portal.admission.state import State
from portal.admission.tree import Tree
from portal.admission.turns import Entry, Outcome, classic_rank
from portal.admission.workloads import FlavorScan, Order, Workload

Heads = list[tuple[Queue, Workload]]
ANY = PreemptionPolicy.ANY
_FIRST: tuple[int, Order] = (-1, (0, 0.0, ""))


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
            if queue.line.any_parked and not queue.active:
                state.unpark(queue)
        return
    tree.any_parked = False
    for queue in tree.queues:
        if queue.line.any_parked:
            state.unpark(queue)


def _heads(state: State) -> Heads:
    heads: Heads = []
    idle: list[str] = []
    for name, queue in state.ready.items():
        head = queue.line.head() if queue.active else None
        if head is None:
            idle.append(name)
        else:
            heads.append((queue, head))
    for name in idle:
        del state.ready[name]
    return heads


def _run(state: State, heads: Heads, now: float) -> list[Decision]:
    state.number += 1
    state.idle_rounds += 1
    decisions: list[Decision] = []
    # A head alone is as quickly tried as judged by its prospects.
    hopeful, without_hope = (heads, []) if state.explains or len(heads) == 1 else _by_hope(state, heads)
    if hopeful:
        for entry in _cycle(state, hopeful, without_hope):
            decisions += _apply(state, entry, now)
    for queue, head in without_hope:
        if state.scans:
            state.scans.pop(head.key, None)
        if not queue.strict:
            queue.park(head)
            state.idle_rounds = 0
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
        if head.key in busy or not hopeless(queue, queue.asks[head.shape], head.priority, fair=fair):
            hopeful.append((queue, head))
        else:
            without_hope.append((queue, head))
    return hopeful, without_hope


def _cycle(state: State, heads: Heads, without_hope: Heads) -> list[Entry]:
    """One cycle of those who have a chance, and of those others who set quota aside in their trees."""
    judge, text = state.judge, state.text
    judge.open_book()
    entries = [nominate(judge, queue, head, _scan(state, queue, head), text) for queue, head in heads]
    if not without_hope:
        return Cycle(state.forest, judge).run(entries)
    reserving = _reserving(state, entries, without_hope)
    processed = Cycle(state.forest, judge).run(entries + reserving)
    return [entry for entry in processed if entry not in reserving] if reserving else processed


def _reserving(state: State, entries: list[Entry], without_hope: Heads) -> list[Entry]:
    """Those of the hopeless who set quota aside before one of the entries, in its tree, has its turn."""
    last: dict[Tree, tuple[int, Order]] = {}
    for entry in entries:
        tree = entry.queue.tree
        last[tree] = max(last.get(tree, _FIRST), classic_rank(entry))
    fair = state.judge.fair is not None
    reserving: list[Entry] = []
    for queue, head in without_hope:
        turn = last.get(queue.tree)
        keeps = queue.spec.preemption.reclaim_within_cohort is not ANY
        if turn is None or not (fair or (keeps and (0, head.order) < turn)):
            continue
        search = _rejected(state.judge, queue, head)
        # In a tournament even a head that gets and keeps nothing may stand in the way of others of its cohort.
        if fair or (search.mode is Mode.PREEMPT and (search.height, head.order) < turn):
            reserving.append(Entry(queue, head, search, []))
    return reserving


def _rejected(judge: Judge, queue: Queue, head: Workload) -> Search:
    """The search of somebody who is certain to be rejected."""
    ask = queue.asks[head.shape]
    if ask.singles is None or queue.pool is None:
        return nominate(judge, queue, head, None, None).search
    return rejected_single(queue, head, ask, judge)


def _scan(state: State, queue: Queue, head: Workload) -> FlavorScan | None:
    """Where the head's search goes on, unless capacity came back since and it starts over."""
    scan = state.scans.get(head.key) if state.scans else None
    if scan is not None and state.number - scan.cycle > 1 and queue.generation > scan.generation:
        return None
    return scan


def _flavors_left(state: State, heads: Heads) -> int:
    busy = state.scans
    if not busy:
        return 0
    resuming = [queue for queue, head in heads if head.key in busy]
    return max((len(plan.flavors) for queue in resuming for plan in queue.plans), default=0)


def _apply(state: State, entry: Entry, now: float) -> list[Decision]:
    workload, queue, search = entry.workload, entry.queue, entry.search
    if entry.outcome is Outcome.ADMITTED:
        state.hold(workload, search.assignment, search.usage, now)
        state.idle_rounds = 0
        return [Admit(workload.key, queue.spec.name, search.assignment)]
    if entry.outcome is Outcome.PREEMPTING:
        return _preempt(state, entry)
    if search.resumes:
        state.scans[workload.key] = FlavorScan(search.tried, queue.generation, state.number)
    elif state.scans:
        state.scans.pop(workload.key, None)
    if entry.outcome is Outcome.REJECTED and not queue.strict and not search.resumes:
        queue.park(workload)
        state.idle_rounds = 0
    return state.explain(workload.key, entry.message) if state.explains else []


def _preempt(state: State, entry: Entry) -> list[Decision]:
    key, queue = entry.workload.key, entry.queue
    state.scans.pop(key, None)
    if not queue.strict:
        queue.line.stick(key)
    decisions: list[Decision] = []
    for target in entry.targets:
        victim = target.holder
        if victim.key not in state.forest.leaving:
            state.tell_to_go(victim)
            state.idle_rounds = 0
            decisions.append(Evict(victim.key, EvictionReason.PREEMPTED, target.reason, key))
    return decisions + state.explain(key, entry.message)
