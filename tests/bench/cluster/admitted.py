"""From Kueue's `Admitted`, as a bare watch hears of it, to the state over REST."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from portal.cluster.port import JsonObject
from tests.bench.cluster.figures import figure, note, percentile, title
from tests.bench.cluster.site import Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import Bare, watching
from tests.cluster_real.stage import is_true
from tests.faults.client import Submitted

SECONDS = 30
LOOK_EVERY = 0.02
WITHIN = 120.0
LIVES = 5.0  # seconds that each runs, so that it is not finished before it is seen
AFTER = frozenset({"starting", "running", "succeeded"})


def measure(site: Site, sizes: Sizes) -> None:
    title(f"From Kueue's Admitted to the state over REST, for {SECONDS} s")
    for rate in (sizes.rate / 4, sizes.rate):
        found = lags(site, rate)
        middle, late = percentile(found, 0.5), percentile(found, 0.95)
        figure(f"p95 at {rate:g} lives a second ({4 * rate:g} changes)", late, 1, unit="s", told=f"p50 {middle:.2f} s")


def owner(workload: JsonObject) -> str | None:
    """The Job of an admitted Workload of Kueue."""
    owners = workload["metadata"].get("ownerReferences") or []
    return owners[0]["name"] if owners and is_true(workload, "Admitted") else None


def lags(site: Site, rate: float) -> list[float]:
    """Seconds, one for each workload; they are submitted on a fixed schedule."""
    stamp, count = int(time.monotonic()), int(rate * SECONDS)
    sent: dict[str, Submitted] = {}
    with watching(site.kubeconfig, "Workload", owner) as bare:
        began = time.monotonic()

        def one(number: int) -> None:
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
            mine = site.submit(f"adm-{stamp}-{number}", LIVES)
            sent[mine.stem] = mine

        with ThreadPoolExecutor(8) as hands:
            asked = [hands.submit(one, number) for number in range(count)]
            told = seen(bare, sent, count)
        for each in asked:
            each.result()
    last = max(at for _, at in told.values())
    note(f"{count} lives in {last - began:.1f} s")
    return [later - at for at, later in told.values()]


def seen(bare: Bare, sent: dict[str, Submitted], count: int) -> dict[str, tuple[float, float]]:
    """Stem -> when the bare watch heard that it is admitted, and when REST said so, asked again and again."""
    found: dict[str, tuple[float, float]] = {}
    limit = time.monotonic() + SECONDS + WITHIN
    while len(found) < count:
        assert time.monotonic() < limit, f"{len(found)} of {count} were seen"
        for job, at in list(bare.at.items()):
            stem = job.rpartition("-r")[0][-11:]
            if stem not in found and stem in sent and sent[stem].now()["state"] in AFTER:
                found[stem] = (at, time.monotonic())
        time.sleep(LOOK_EVERY)
    return found
