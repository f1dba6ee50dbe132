"""Laws of field sets, comparison and server-side apply, over many objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.cluster.simulated.apply import Manager, apply, own_update
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.fields import applied, compare, from_fields_v1, shown, to_fields_v1
from portal.cluster.simulated.objects import Obj

LAW = settings(max_examples=50, deadline=None)
NOW = "2026-12-01T09:00:00Z"
NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.dictionaries(NAMES, st.sampled_from(["1", "2"]), max_size=3)


def items(key: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Obj]]:
    item = st.fixed_dictionaries({key: NAMES}, optional=fields)
    return st.lists(item, max_size=3, unique_by=lambda each: each[key])


CONTAINERS = items("name", image=NAMES, env=items("name", value=NAMES), command=st.lists(NAMES, max_size=2))
PODS = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("Pod")},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": TEXTS, "annotations": TEXTS}),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "nodeSelector": TEXTS,
                "tolerations": st.lists(TEXTS, max_size=2),
                "nodeName": NAMES,
            },
        ),
    },
).map(lambda obj: {**obj, "metadata": {**obj.get("metadata", {}), "name": "p"}})
US, THEM = Manager("us", "Apply", "", "v1"), Manager("them", "Apply", "", "v1")


def owned(obj: Obj, manager: Manager) -> set[tuple[str, ...]]:
    for entry in obj["metadata"].get("managedFields", []):
        if (entry["manager"], entry["operation"]) == (manager.name, manager.operation):
            return from_fields_v1(entry["fieldsV1"])
    return set()


def content(obj: Obj) -> Obj:
    """Without ownership; maps and lists in which nothing is left do not count."""
    return dict(_tidy({**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}))


def _tidy(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    tidied = {name: _tidy(below) for name, below in value.items()}
    return {name: below for name, below in tidied.items() if below not in ({}, [])}


@LAW
@given(PODS)
def test_sets_survive_their_written_form(pod: Obj) -> None:
    paths = applied(pod)

    assert from_fields_v1(to_fields_v1(paths)) == paths


@LAW
@given(PODS)
def test_nothing_differs_from_itself(pod: Obj) -> None:
    found = compare(pod, copy.deepcopy(pod))

    assert not found.added | found.modified | found.removed


@LAW
@given(PODS, PODS)
def test_comparison_turned_round_swaps_added_and_removed(one: Obj, other: Obj) -> None:
    there, back = compare(one, other), compare(other, one)

    assert there.modified == back.modified
    assert there.added == back.removed


@LAW
@given(PODS)
def test_first_apply_stores_and_owns_what_it_says(pod: Obj) -> None:
    stored = apply(None, pod, US, NOW)

    assert content(stored) == content(pod)
    assert owned(stored, US) == applied(pod)


@LAW
@given(PODS)
def test_second_apply_of_the_same_changes_nothing(pod: Obj) -> None:
    stored = apply(None, pod, US, NOW)

    assert apply(stored, pod, US, "2030-01-01T00:00:00Z") == stored


@LAW
@given(PODS, PODS)
def test_lone_manager_gets_what_it_says_last(first: Obj, last: Obj) -> None:
    stored = apply(apply(None, first, US, NOW), last, US, NOW)

    assert owned(stored, US) == applied(last)
    assert compare(content(stored), content(last)).changed == set()
    assert _by_name(content(stored)) == _by_name(content(last))


def _by_name(obj: Obj) -> Obj:
    """The order of keyed items is not part of what is said."""
    containers = [
        {**each, "env": sorted(each.get("env", []), key=lambda one: str(one["name"]))}
        for each in obj.get("spec", {}).get("containers", [])
    ]
    ordered = sorted(containers, key=lambda one: str(one["name"]))
    return {**obj, "spec": {**obj.get("spec", {}), "containers": ordered}}


@LAW
@given(PODS, PODS)
def test_forced_apply_leaves_each_field_with_its_last_writer(ours: Obj, theirs: Obj) -> None:
    stored = apply(None, ours, US, NOW)
    forced = apply(stored, theirs, THEM, NOW, force=True)

    assert owned(forced, THEM) == applied(theirs)
    taken = compare(stored, forced).modified
    assert not taken & owned(forced, US)


@LAW
@given(PODS, PODS)
def test_conflicts_are_exactly_the_fields_that_would_be_taken(ours: Obj, theirs: Obj) -> None:
    stored = apply(None, ours, US, NOW)
    forced = apply(stored, theirs, THEM, NOW, force=True)
    expected = sorted(shown(path) for path in compare(stored, forced).changed & owned(stored, US))

    if not expected:
        assert content(apply(stored, theirs, THEM, NOW)) == content(forced)
        return
    with pytest.raises(ApiError) as refused:
        apply(stored, theirs, THEM, NOW)
    assert sorted(cause["field"] for cause in (refused.value.details or {})["causes"]) == expected


@LAW
@given(PODS, PODS)
def test_update_owns_what_it_changed_and_frees_what_it_removed(ours: Obj, update: Obj) -> None:
    stored = apply(None, ours, US, NOW)
    new = copy.deepcopy(update)
    new["metadata"]["managedFields"] = copy.deepcopy(stored["metadata"].get("managedFields", []))
    editor = Manager("kubectl", "Update", "", "v1")

    own_update(stored, new, editor, NOW)

    difference = compare(stored, new)
    assert owned(new, editor) == difference.changed
    assert not owned(new, US) & (difference.changed | difference.removed)
    assert owned(new, US) <= owned(stored, US)


def test_inputs_are_left_alone() -> None:
    config: Obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
    stored = apply(None, config, US, NOW)
    kept = copy.deepcopy(stored)

    apply(stored, {**config, "data": {"b": "1"}}, US, NOW)

    assert stored == kept
    assert config["data"] == {"a": "1"}
