"""Words of the cluster without a blank (images, pods) stay inside their place on a phone."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Demo, Visit

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("path", ["/", "/workloads/"])
def test_the_reason_of_a_failed_pull_is_readable_at_360_pixels(visit: Visit, demo: Demo, path: str) -> None:
    name = f"pull-{'home' if path == '/' else 'list'}"
    made = demo.training("pablo", name, flavor="cpu", gpus=0, env={"TURNO_SIM_EXIT": "image"})
    demo.call("GET", f"/training-jobs/{made['id']}/?wait=60&for=finished", "pablo")
    page = visit("pablo", path, width=360)
    row = page.locator(f"#row-{made['id']}")
    assert "cannot be pulled" in row.inner_text()
    assert row.evaluate("row => row.scrollWidth <= row.clientWidth")
