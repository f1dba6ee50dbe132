"""Memory of `watch`, and a relist of everything, with thousands of workloads on the cluster."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kubernetes.client import ApiClient, BatchV1Api
from kubernetes.config import load_kube_config

from portal.cluster import names
from portal.cluster.kube import Connection, KubeGateway
from portal.cluster.mirror import Mirror
from portal.cluster.models import Cluster, MirrorObject, MirrorStream
from portal.cluster.streams import KindStream, Listed, Term, collect
from portal.cluster.watch import write_items
from tests.bench.cluster.figures import figure, middle, note, title
from tests.bench.cluster.site import Site
from tests.bench.cluster.sizes import Sizes
from tests.faults.stage import looking_into
from tests.tooling.processes import wait_until

NAMESPACE, QUEUE = "bench-mirror", "bench-mirror"
AT_ONCE = 8
WITHIN = 900.0
MOST_MIB = 150.0


def measure(site: Site, sizes: Sizes) -> None:
    title(f"Memory of watch, and a relist of {sizes.mirrored:,} Jobs ({sizes.rounds} rounds)")
    queue(site)
    with looking_into(site):
        for first, size in ((0, sizes.mirrored // 5), (sizes.mirrored // 5, sizes.mirrored)):
            grow(site, first, size)
        typed, read, whole = [], [], []
        for _ in range(sizes.rounds):
            typed.append(typed_list(site))
            read.append(only_read(site))
            whole.append(relist(site))
    told = f"{middle(read):.1f} s beside {middle(typed):.1f} s of the typed client"
    figure("reading a relist", middle(read) / middle(typed), 0.2, unit="x", told=told)
    told = f"{middle(whole):.1f} s, with every row compared"
    figure("reading it and bringing the rows up to date", middle(whole) / middle(typed), 0.2, unit="x", told=told)


def grow(site: Site, first: int, size: int) -> None:
    """From the first so many Jobs to the whole number of them, and the watcher's memory then."""
    fill(site, first, size)
    wait_until(lambda: mirrored(size), f"{size} Jobs and Workloads are mirrored", WITHIN, every=1)
    steady, afresh, took = site.memory("watch"), *from_nothing(site)
    note(f"    {size:,}: {steady:.0f} MiB after they came; {afresh:.0f} MiB after a start that lists, in {took:.0f} s")
    figure(f"memory of watch at {size:,}", max(steady, afresh), MOST_MIB, unit="MiB")


def queue(site: Site) -> None:
    """A queue that admits nothing, with a namespace of its own: what waits there is mirrored, and nobody's work."""
    api = "kueue.x-k8s.io/v1beta2"
    flavor = {"name": "bench", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
    listed: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": api, "kind": "ResourceFlavor", "metadata": {"name": "bench"}},
        {
            "apiVersion": api,
            "kind": "ClusterQueue",
            "metadata": {"name": QUEUE},
            "spec": {
                "stopPolicy": "Hold",
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
            },
        },
        {
            "apiVersion": api,
            "kind": "LocalQueue",
            "metadata": {"name": QUEUE, "namespace": NAMESPACE},
            "spec": {"clusterQueue": QUEUE},
        },
    ]
    for one in listed:
        site.plane.kubectl("apply", "--server-side", "-f", "-", given=one)


def job(number: int) -> dict[str, Any]:
    """As large as Turno's own are, with its label; it stands for no row of Turno's, so nobody is woken."""
    container = {
        "name": "main",
        "image": "registry.turno.example/library/python:3.13-slim",
        "command": ["python", "train.py", "--epochs", "90"],
        "env": [{"name": f"SETTING_{index}", "value": "x" * 40} for index in range(8)],
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
    }
    labels = {
        names.MANAGED_BY: names.OURS,
        names.INSTANCE: "turno",
        "turno.dev/tenant": "data",
        "turno.dev/kind": "training",
        "kueue.x-k8s.io/queue-name": QUEUE,
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"bench-{number}", "namespace": NAMESPACE, "labels": labels},
        "spec": {"suspend": True, "template": {"metadata": {"labels": {"turno.dev/kind": "training"}}, "spec": pod}},
    }


def fill(site: Site, first: int, count: int) -> None:
    gateway = site.gateway
    with ThreadPoolExecutor(AT_ONCE) as hands:
        list(hands.map(lambda number: gateway.create(job(number)), range(first, count)))


def mirrored(count: int) -> bool:
    rows = MirrorObject.objects.filter(namespace=NAMESPACE)
    return all(rows.filter(kind=kind).count() >= count for kind in ("Job", "Workload"))


def from_nothing(site: Site) -> tuple[float, float]:
    """A new watcher that lists everything: its memory then, and the seconds it took from its start."""
    site.kill("watch")
    MirrorStream.objects.update(listed_at=None)
    began = time.monotonic()
    site.start("watch")
    wait_until(lambda: not MirrorStream.objects.filter(listed_at=None).exists(), "all is listed", WITHIN, every=0.2)
    took = time.monotonic() - began
    time.sleep(2)
    return site.memory("watch"), took


def typed_list(site: Site) -> float:
    """The official client's own list."""
    load_kube_config(site.kubeconfig)
    jobs = BatchV1Api(ApiClient(pool_threads=1))
    began = time.perf_counter()
    found = jobs.list_job_for_all_namespaces(label_selector=f"{names.INSTANCE}=turno")
    assert len(found.items) > 1000, len(found.items)
    return time.perf_counter() - began


def stream(site: Site) -> Term:
    """The watcher's own thread for Jobs, that lists."""
    term = Term()
    gateway = KubeGateway(Connection(site.kubeconfig), manager="bench")
    KindStream(term, gateway, "Job", instance="turno").start()
    return term


def only_read(site: Site) -> float:
    began, term = time.perf_counter(), stream(site)
    while not any(isinstance(item, Listed) for item in collect(term)):
        pass
    term.over.set()
    return time.perf_counter() - began


def relist(site: Site) -> float:
    """As after a 410: everything is listed, each row compared, what is gone taken out."""
    mirror = Mirror(Cluster.objects.get(), lambda: None)
    began, term = time.perf_counter(), stream(site)
    while True:
        items = collect(term)
        write_items(mirror, items)
        if any(isinstance(item, Listed) for item in items):
            term.over.set()
            return time.perf_counter() - began
