"""An API server that is down for a minute: everything is acknowledged, and made up for afterwards."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.bench.cluster.burst import name_of, stem
from tests.bench.cluster.figures import figure, note, title
from tests.bench.cluster.site import USER, Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import AuditLog, counted, watching

RATE = 10.0
WITHIN = 300.0


def measure(site: Site, sizes: Sizes) -> None:
    title(f"An API server that is down for {sizes.down:g} s, while {RATE:g} workloads a second are submitted")
    count = int(sizes.down * RATE)
    stamp = int(time.monotonic())
    client = site.client(USER)
    began = time.monotonic()
    with site.plane.api_is_down():

        def one(number: int) -> tuple[int, str]:
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))
            answer = client.call("POST", "/training-jobs/", site.job(f"out-{stamp}-{number}"))
            return answer.status, answer.json.get("id", "") if answer.status == 201 else ""

        with ThreadPoolExecutor(8) as hands:
            answers = list(hands.map(one, range(count)))
        ids = [identity for _, identity in answers if identity]
        figure("acknowledged meanwhile", len(ids) / count * 100, 100, unit="%", least=True)
        told = client.call("GET", f"/training-jobs/{ids[0]}/").json
        note(f"    the user is told: {told['state']}, {told['reason']}: {told['message']}")
    back = time.monotonic()
    audit = AuditLog(site.plane.plane.places.logs / "audit.log")
    wanted = {f"-{identity.replace('-', '')[-10:]}" for identity in ids}
    with watching(site.kubeconfig, "Job", name_of, listed=True) as jobs:
        limit = time.monotonic() + WITHIN
        while not wanted <= {stem(name) for name in list(jobs.at)}:
            assert time.monotonic() < limit, "not everything is made up for"
            time.sleep(0.1)
        at = sorted(at for name, at in jobs.at.items() if stem(name) in wanted)
    asked = audit.take()
    note(f"    the first object {at[0] - back:.1f} s after Kueue was back, the last after {at[-1] - back:.1f} s")
    rate = len(ids) / max(0.001, at[-1] - at[0])
    figure("made up for, objects a second", rate, 100, unit="/s", least=True)
    refused = [one for one in asked if one.code >= 400]
    note(f"    refused: {counted(refused) or 'none'}")
