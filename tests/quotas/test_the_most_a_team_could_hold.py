"""Quota arithmetic: the maximum agrees with the model of admission, what is lent adds up, trees hang together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.admission import ClusterQueueSpec, CohortSpec, Engine, FlavorQuota, QuotaCell, ResourceGroup
from quotas.arithmetic import Share, is_quantity, lent, makes_a_cycle, maximum, tree_of

GPU = "nvidia.com/gpu"
COHORTS = ("a", "b", "c", "d")
# Each cohort hangs below an earlier one or stands alone: never a cycle.
parents = st.tuples(
    st.none(), st.sampled_from([None, "a"]), st.sampled_from([None, "a", "b"]), st.sampled_from([None, "a", "b", "c"])
).map(lambda above: dict(zip(COHORTS, above, strict=True)))


@st.composite
def shares(draw: st.DrawFn) -> Share:
    nominal = draw(st.integers(0, 6))
    limit = st.one_of(st.none(), st.integers(0, 6))
    return Share(nominal, draw(limit), draw(st.one_of(st.none(), st.integers(0, nominal))))


members = st.lists(st.tuples(shares(), st.sampled_from(COHORTS)), min_size=1, max_size=6)


@given(above=parents, teams=members)
def test_the_maximum_is_what_the_model_of_kueue_says(
    above: dict[str, str | None], teams: list[tuple[Share, str]]
) -> None:
    engine = Engine()
    for name, parent in above.items():
        engine.upsert_cohort(CohortSpec(name, parent), 0.0)
    for number, (share, cohort) in enumerate(teams):
        cell = QuotaCell(share.nominal, share.borrowing_limit, share.lending_limit)
        group = ResourceGroup((GPU,), (FlavorQuota("h100", {GPU: cell}),))
        engine.upsert_queue(ClusterQueueSpec(f"q{number}", cohort, resource_groups=(group,)), 0.0)
    for number, (share, cohort) in enumerate(teams):
        tree = tree_of(cohort, above)
        others = [other for index, (other, where) in enumerate(teams) if index != number and where in tree]
        assert maximum(share, others, in_cohort=True) == engine.maximum(f"q{number}", "h100", GPU)


@given(teams=st.lists(st.tuples(shares(), st.integers(0, 12)), max_size=6))
def test_what_is_lent_adds_up_to_what_is_borrowed_as_far_as_anybody_can_lend(teams: list[tuple[Share, int]]) -> None:
    held = {f"q{number}": pair for number, pair in enumerate(teams)}
    found = lent(held)
    borrowed = sum(max(0, units - share.nominal) for share, units in teams)
    idle = sum(max(0, min(share.lendable, share.nominal - units)) for share, units in teams)
    assert sum(found.values()) == min(borrowed, idle)
    for name, units in found.items():
        share, used = held[name]
        assert 0 <= units <= max(0, min(share.lendable, share.nominal - used))


def test_the_one_with_the_most_idle_lends_first_and_names_break_ties() -> None:
    held = {"b": (Share(2), 0), "a": (Share(2), 0), "c": (Share(1), 0), "d": (Share(0), 3)}
    assert lent(held) == {"a": 2, "b": 1, "c": 0, "d": 0}


def test_a_queue_outside_every_cohort_has_what_it_owns() -> None:
    assert maximum(Share(2, borrowing_limit=None), [Share(5)], in_cohort=False) == 2


@given(above=parents)
def test_a_tree_is_the_same_seen_from_each_of_its_cohorts(above: dict[str, str | None]) -> None:
    for name in COHORTS:
        for other in tree_of(name, above):
            assert tree_of(other, above) == tree_of(name, above)


def test_a_cohort_without_a_row_stands_alone() -> None:
    assert tree_of("nowhere", {"a": None, "b": "a"}) == {"nowhere"}


def test_a_cycle_in_the_rows_ends_the_search() -> None:
    assert tree_of("a", {"a": "b", "b": "a"}) >= {"a"}


@pytest.mark.parametrize(
    ("cohort", "parent", "cycle"), [("a", "a", True), ("a", "c", True), ("c", "a", False), ("d", "c", False)]
)
def test_a_cohort_cannot_hang_below_itself(cohort: str, parent: str, cycle: bool) -> None:
    assert makes_a_cycle(cohort, parent, {"a": None, "b": "a", "c": "b", "d": None}) is cycle


@pytest.mark.parametrize("text", ["0", "1", "500m", "1.5", "4Ti", "1e", "-1", "1 Gi", "", "01", "Gi", "1k", "٣", 5])
def test_a_quantity_is_written_as_kubernetes_reads_it(text: object) -> None:
    assert is_quantity(text) is (text in ("0", "1", "500m", "1.5", "4Ti", "1k"))
