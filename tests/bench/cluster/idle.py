"""Requests of an idle Turno, while thousands of workloads run."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.bench.cluster.figures import figure, note, title
from tests.bench.cluster.site import Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import AuditLog, Request, counted
from tests.tooling.processes import wait_until

DAY = 86_400.0
MINUTE = 60.0
AT_ONCE = 8
WITHIN = 900.0


def measure(site: Site, sizes: Sizes) -> None:
    title(f"Requests in a minute of an idle Turno with {sizes.idle:,} running workloads")
    running(site, sizes.idle)
    audit = AuditLog(site.plane.plane.places.logs / "audit.log")
    note(f"quiet after {quiet(audit):.0f} s")
    time.sleep(MINUTE)
    found = audit.take()
    asked = [one for one in found if not expected(one)]
    figure("requests a minute, but for watches", len(asked), 0, told=counted(asked))
    note(f"    and {counted([one for one in found if expected(one)]) or 'no watch began anew'}")


def expected(one: Request) -> bool:
    """Watches that begin anew, and the look at what the server serves, every five minutes."""
    return one.verb == "watch" or one.resource.startswith(("/version", "/api/", "/apis/"))


def running(site: Site, count: int) -> None:
    """So many training jobs of a day run."""
    began = time.monotonic()
    stamp = int(began)
    with ThreadPoolExecutor(AT_ONCE) as hands:
        list(hands.map(lambda number: site.submit(f"idle-{stamp}-{number}", DAY), range(count)))
    note(f"{count:,} acknowledged after {time.monotonic() - began:.0f} s")
    wait_until(lambda: site.count("running") >= count, f"{count} run", WITHIN, every=5)
    note(f"{count:,} run after {time.monotonic() - began:.0f} s")


def quiet(audit: AuditLog) -> float:
    """Seconds until nothing was asked for five seconds."""
    began = time.monotonic()
    audit.take()
    calm = 0
    while calm < 5 and time.monotonic() - began < WITHIN:
        time.sleep(1)
        calm = 0 if [one for one in audit.take() if not expected(one)] else calm + 1
    return time.monotonic() - began
