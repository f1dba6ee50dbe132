"""What the form does by itself for the person who fills it in."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def test_a_choice_without_gpu_asks_for_none_and_the_number_comes_back(visit: Visit) -> None:
    page = visit("pablo", "/new/training/")
    page.fill("#id_name", "small")
    page.fill("#id_gpus", "2")
    page.check("input[name=flavor][value=cpu]")
    assert page.input_value("#id_gpus") == "0"
    page.get_by_text("Everything reads well.").wait_for()
    page.check("input[name=flavor][value=h100-1g]")
    assert page.input_value("#id_gpus") == "2"


def test_an_error_leaves_the_fields_beside_it_where_they_are(visit: Visit) -> None:
    page = visit("pablo", "/new/training/")
    page.fill("#id_gpus", "some")
    page.locator("#error-gpus").filter(has_text="whole number").wait_for()
    tops = {page.locator(f"#id_{name}").bounding_box()["y"] for name in ("gpus", "cpu", "memory")}  # type: ignore[index]
    assert len(tops) == 1
