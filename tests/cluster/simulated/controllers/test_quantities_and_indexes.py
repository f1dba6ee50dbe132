"""Amounts and completion indexes, from text to numbers and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from portal.admission.quantities import parse, pod_requests, render
from portal.cluster.simulated.controllers.indexes import indexes_text, parse_indexes


@pytest.mark.parametrize(
    ("resource", "text", "amount", "rendered"),
    [
        ("cpu", "1", 1000, "1"),
        ("cpu", "500m", 500, "500m"),
        ("cpu", "0.1", 100, "100m"),
        ("cpu", "1.5", 1500, "1500m"),
        ("memory", "64Gi", 64 * 2**30, "64Gi"),
        ("memory", "1G", 10**9, "1000000000"),
        ("memory", "1536Mi", 1536 * 2**20, "1536Mi"),
        ("memory", "1e3", 1000, "1000"),
        ("nvidia.com/gpu", "4", 4, "4"),
        ("nvidia.com/gpu", "1k", 1000, "1000"),
    ],
)
def test_quantities_are_read_and_written(resource: str, text: str, amount: int, rendered: str) -> None:
    assert parse(resource, text) == amount
    assert render(resource, amount) == rendered


@pytest.mark.parametrize("text", ["", "four", "1GB", "--1", "1 Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse("memory", text)


@given(some.integers(min_value=0, max_value=2**60), some.sampled_from(["cpu", "memory", "nvidia.com/gpu"]))
def test_what_is_written_is_read_again(amount: int, resource: str) -> None:
    assert parse(resource, render(resource, amount)) == amount


def test_a_pod_asks_for_its_containers_or_a_larger_init_container() -> None:
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": "1"}}},
            {"resources": {"requests": {"cpu": "500m"}}},
            {},
        ],
        "initContainers": [{"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}],
    }
    assert pod_requests(spec) == {"cpu": 4000, "nvidia.com/gpu": 1, "memory": 2**30}


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({0}, "0"), ({0, 1}, "0,1"), ({0, 1, 2}, "0-2"), ({0, 2, 3, 4, 7}, "0,2-4,7")],
)
def test_completed_indexes_are_written_as_kubernetes_does(indexes: set[int], text: str) -> None:
    assert indexes_text(indexes) == text
    assert parse_indexes(text) == indexes


@given(some.sets(some.integers(min_value=0, max_value=60)))
def test_any_set_of_indexes_survives(indexes: set[int]) -> None:
    assert parse_indexes(indexes_text(indexes)) == indexes
