"""How fast requests become objects: one after the other and 500 at once, beside the official client."""

from __future__ import annotations

import copy
import os
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from kubernetes.client import ApiClient, BatchV1Api
from kubernetes.config import load_kube_config

from portal.cluster.port import JsonObject
from tests.bench.cluster.admitted import owner
from tests.bench.cluster.figures import figure, middle, note, percentile, title
from tests.bench.cluster.site import Site
from tests.bench.cluster.sizes import Sizes
from tests.bench.cluster.witness import Bare, watching
from tests.tooling.processes import wait_until

SUBMITTING, CREATING = 16, 8
SINGLES = 40
LIVES = 1.0
WITHIN = 300.0
_numbers = count(1)


class Direct:
    """The official client, and the Job that Turno would make: without Turno's labels, so that it is not Turno's."""

    def __init__(self, site: Site) -> None:
        load_kube_config(site.kubeconfig)
        self.jobs = BatchV1Api(ApiClient(pool_threads=1))
        self.jobs.api_client.configuration.connection_pool_maxsize = CREATING
        mine = site.submit(f"model-{os.getpid()}", LIVES)
        mine.until("succeeded")
        manifests = mine.client.call("GET", f"{mine.path}manifests/").json["manifests"]
        self.manifest: JsonObject = next(one for one in manifests if one["kind"] == "Job")
        for metadata in (self.manifest["metadata"], self.manifest["spec"]["template"]["metadata"]):
            labels = metadata.get("labels") or {}
            metadata["labels"] = {name: value for name, value in labels.items() if "turno.dev" not in name}
            metadata["labels"].pop("app.kubernetes.io/managed-by", None)
        self.namespace = self.manifest["metadata"]["namespace"]

    def create(self, name: str) -> None:
        body = copy.deepcopy(self.manifest)
        body["metadata"]["name"] = name
        self.jobs.create_namespaced_job(self.namespace, body)

    def clear(self) -> None:
        self.jobs.delete_collection_namespaced_job(
            self.namespace, label_selector="!turno.dev/workload", propagation_policy="Background"
        )


def name_of(one: JsonObject) -> str:
    return str(one["metadata"]["name"])


def stem(name: str) -> str:
    """Of a Job of Turno's: the part of its name that tells its workload."""
    return name.rpartition("-r")[0][-11:]


def rest(site: Site) -> None:
    """Nothing of what was made is at work any more."""

    def over() -> bool:
        listed: Any = site.gateway.list("Job", limit=5000).items
        return all((one.get("status") or {}).get("completionTime") for one in listed) and not site.count("running")

    wait_until(over, "what was made has come to its end", WITHIN, every=3)
    time.sleep(2)


def singles(site: Site, sizes: Sizes) -> None:
    title(f"From submit to the object, one after the other, beside create -> object ({sizes.rounds} rounds)")
    direct = Direct(site)
    turno: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    for _ in range(sizes.rounds):
        turno.append(quantiles([single_submit(site, heard) for heard in heard_jobs(site)]))
        bare.append(quantiles([single_create(direct, heard) for heard in heard_jobs(site)]))
        direct.clear()
        rest(site)
    for at, what, target in ((0, "p50", 4.0), (1, "p95", 6.0)):
        mine, theirs = (middle([each[at] for each in found]) * 1000 for found in (turno, bare))
        figure(
            f"submit -> object, {what}", mine / theirs, target, unit="x", told=f"{mine:.0f} ms beside {theirs:.0f} ms"
        )


def heard_jobs(site: Site) -> Any:
    """One bare watch for a round of single ones."""
    with watching(site.kubeconfig, "Job", name_of) as heard:
        for _ in range(SINGLES):
            yield heard
            time.sleep(0.05)


def quantiles(found: list[float]) -> tuple[float, float]:
    return percentile(found, 0.5), percentile(found, 0.95)


def single_submit(site: Site, heard: Bare) -> float:
    began = time.monotonic()
    mine = site.submit(f"single-{os.getpid()}-{next(_numbers)}", LIVES)
    return first(heard, mine.stem, turno=True) - began


def single_create(direct: Direct, heard: Bare) -> float:
    name = f"direct-{os.getpid()}-{next(_numbers)}"
    began = time.monotonic()
    direct.create(name)
    return first(heard, name) - began


def first(heard: Bare, wanted: str, *, turno: bool = False) -> float:
    """When the watch heard of it."""
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        for name, at in list(heard.at.items())[::-1]:
            if wanted == (stem(name) if turno else name):
                return at
        time.sleep(0.001)
    raise AssertionError(f"{wanted} never came")


def measure(site: Site, sizes: Sizes) -> None:
    title(f"{sizes.burst} workloads at once, beside a script that creates the same Jobs ({sizes.rounds} rounds)")
    direct = Direct(site)
    found: dict[str, list[tuple[float, float]]] = {"turno": [], "direct": []}
    for number in range(sizes.rounds):
        order = ("turno", "direct") if number % 2 else ("direct", "turno")
        for side in order:
            found[side].append(one_burst(site, direct, side, sizes.burst))
            note(f"{side}: {found[side][-1][0]:.0f} objects/s, {found[side][-1][1]:.0f} admitted/s")
            direct.clear()
            rest(site)
    mine, theirs = (middle([rate for rate, _ in found[side]]) for side in ("turno", "direct"))
    kueue = middle([admitted for _, admitted in found["direct"]])
    told = f"{mine:.0f}/s beside {theirs:.0f}/s"
    figure("rate beside the script's", mine / theirs, 0.25, unit="x", least=True, told=told)
    told = f"{mine:.0f}/s beside {kueue:.0f}/s"
    figure("rate beside Kueue's own admission", mine / kueue, 4, unit="x", least=True, told=told)


def one_burst(site: Site, direct: Direct, side: str, size: int) -> tuple[float, float]:
    """Objects seen per second, and admitted per second, from the first request on."""
    stamp = next(_numbers)
    with watching(site.kubeconfig, "Job", name_of) as jobs, watching(site.kubeconfig, "Workload", owner) as admitted:
        began = time.monotonic()
        if side == "turno":
            with ThreadPoolExecutor(SUBMITTING) as hands:
                list(hands.map(lambda number: site.submit(f"burst-{stamp}-{number}", LIVES), range(size)))
            note(f"acknowledged {size / (time.monotonic() - began):.0f}/s")
        else:
            with ThreadPoolExecutor(CREATING) as hands:
                list(hands.map(lambda number: direct.create(f"burst-{stamp}-{number}"), range(size)))
        jobs.until(size, WITHIN)
        admitted.until(size, WITHIN)
        return size / (max(jobs.at.values()) - began), size / (max(admitted.at.values()) - began)
