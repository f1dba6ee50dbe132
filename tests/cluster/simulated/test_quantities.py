"""Quantities are stored in their canonical form, as a real server stores them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portal.cluster.simulated.canonical import canonical
from tests.cluster.simulated.conftest import Asker

LAW = settings(max_examples=50, deadline=None)
JOBS = "/apis/batch/v1/namespaces/w1/jobs"


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("1", "1"),
        (1, "1"),
        (0.5, "500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.1", "100m"),
        ("1000", "1k"),
        ("12000M", "12G"),
        ("1e3", "1k"),
        ("0", "0"),
        ("0Gi", "0"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Gi", "1000Gi"),
        ("1Ki", "1Ki"),
        ("0.5Ki", "512"),
        ("-1", "-1"),
        ("2048Ei", "2048Ei"),
        ("0.0000000001", "1n"),
    ],
)
def test_canonical_form(given_text: object, stored: str) -> None:
    assert canonical(given_text) == stored


@pytest.mark.parametrize("text", ["", "two", "1 Gi", "1gi", "Gi", "1.2.3", "--1", "1KiB", True])
def test_no_quantity(text: object) -> None:
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        canonical(text)


@LAW
@given(st.integers(0, 10**15), st.sampled_from(["n", "u", "m", "", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti"]))
def test_canonical_form_is_stable_and_of_the_same_amount(number: int, suffix: str) -> None:
    text = canonical(f"{number}{suffix}")

    assert canonical(text) == text
    assert amount(text) == amount(f"{number}{suffix}")


def amount(text: str) -> Decimal:
    digits = text.rstrip("numkKMGTPEi")
    suffix = text[len(digits) :]
    if suffix.endswith("i"):
        return Decimal(digits) * 1024 ** ("KMGTPE".index(suffix[0]) + 1)
    return Decimal(digits).scaleb(
        {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}[suffix]
    )


def test_requests_of_a_job_are_stored_so(ask: Asker) -> None:
    resources = {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"nvidia.com/gpu": 1}}
    container = {"name": "main", "image": "x:1", "resources": resources}

    made = ask(
        "POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"containers": [container]}}}}
    ).body

    assert made["spec"]["template"]["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }


def test_amount_that_cannot_be_read_is_refused(ask: Asker) -> None:
    container = {"name": "main", "image": "x:1", "resources": {"requests": {"cpu": "two"}}}

    refused = ask(
        "POST", JOBS, {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"containers": [container]}}}}
    )

    assert refused.status == 400
    assert refused.body["message"] == (
        'Job in version "v1" cannot be handled as a Job: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_applying_another_spelling_moves_nothing(ask: Asker) -> None:
    config = {"spec": {"hard": {"requests.storage": "1024Gi", "persistentvolumeclaims": "10"}}}
    first = ask.apply("resourcequotas/q", config).body
    assert first["spec"]["hard"] == {"requests.storage": "1Ti", "persistentvolumeclaims": "10"}

    assert ask.apply("resourcequotas/q", config).body == first
