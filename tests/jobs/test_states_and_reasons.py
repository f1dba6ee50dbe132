"""The table of states and the table of reasons agree with each other and with the design."""

from __future__ import annotations

import re
from itertools import product

import pytest

from jobs.states import (
    EXPLANATIONS,
    FINAL_STATES,
    LIVE_STATES,
    RULES,
    STOPPED_AS,
    TRANSITIONS,
    Reason,
    State,
    allowed,
    state_of,
)

ENDS = {State.SUCCEEDED, State.FAILED, State.STOPPING, State.DELETING}
EXPECTED = {
    State.SUBMITTED: {State.QUEUED, State.STARTING, State.RUNNING} | ENDS,
    State.QUEUED: {State.STARTING, State.RUNNING} | ENDS,
    State.STARTING: {State.RUNNING, State.QUEUED, State.IDLE} | ENDS,
    State.RUNNING: {State.QUEUED, State.STARTING, State.IDLE} | ENDS,
    State.IDLE: {State.STARTING, State.QUEUED, State.RUNNING, State.FAILED, State.STOPPING, State.DELETING},
    State.STOPPING: {State.STOPPED, State.SUCCEEDED, State.FAILED, State.DELETING},
    State.STOPPED: {State.SUBMITTED, State.DELETING},
    State.SUCCEEDED: {State.SUBMITTED, State.DELETING},
    State.FAILED: {State.SUBMITTED, State.DELETING},
    State.DELETING: {State.DELETED},
    State.DELETED: set(),
}


@pytest.mark.parametrize(("origin", "target"), list(product(State, State)))
def test_every_pair_of_states_is_as_designed(origin: State, target: State) -> None:
    assert allowed(origin, target) is (target in EXPECTED[origin])


def test_every_state_is_live_final_or_being_deleted() -> None:
    assert set(State) == LIVE_STATES | FINAL_STATES | {State.DELETING}
    assert not LIVE_STATES & FINAL_STATES


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_one_state_and_a_sentence(reason: Reason) -> None:
    assert state_of(reason) in State
    sentence = EXPLANATIONS[reason].sentence
    assert sentence
    assert sentence.rstrip()[-1] in ".s"  # a full stop, or a value that the cluster wrote
    assert re.sub(r"%\(\w+\)s", "", sentence).count("%") == 0


@pytest.mark.parametrize("state", [state for state in State if state is not State.DELETED])
def test_every_state_has_a_reason(state: State) -> None:
    assert any(row.state is state for row in EXPLANATIONS.values())


@pytest.mark.parametrize("reason", [r for r in Reason if state_of(r) in (State.FAILED, State.STOPPED)])
def test_whoever_failed_or_was_stopped_is_told_what_to_do(reason: Reason) -> None:
    assert EXPLANATIONS[reason].way_out


def test_every_way_of_being_stopped_has_its_end() -> None:
    for why, then in STOPPED_AS.items():
        assert state_of(why) is State.STOPPING
        assert state_of(then) is State.STOPPED
    stopping = {reason for reason in Reason if state_of(reason) is State.STOPPING}
    assert stopping - set(STOPPED_AS) == {Reason.STOPPING_UNREACHABLE}


def test_every_state_can_be_reached_and_deleted() -> None:
    reached, front = {State.SUBMITTED}, [State.SUBMITTED]
    while front:
        new = TRANSITIONS[front.pop()] - reached
        reached |= new
        front += new
    assert reached == set(State)
    for state in set(State) - {State.DELETING, State.DELETED}:
        assert allowed(state, State.DELETING)


def test_rules_of_preemption_are_in_words() -> None:
    assert {"InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing"} <= set(
        RULES
    )
