"""Random days of a cluster: whatever is done in whatever order, nobody holds what is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from portal.admission.quantities import parse, pod_requests
from portal.cluster.simulated.controllers.conditions import is_true
from portal.cluster.simulated.objects import Obj
from tests.cluster.simulated.controllers.conftest import Cluster, furnish_lab, queued_job
from tests.cluster.simulated.controllers.test_kueue_gates_pods import deployment, stateful_set

GPU = "nvidia.com/gpu"
ENDED = ("Succeeded", "Failed")
Act = Callable[[Cluster, int], None]


def submit(cluster: Cluster, number: int) -> None:
    team = ("team-a", "team-b")[number % 2]
    env = {"TURNO_SIM_SECONDS": str(5 + number % 40), "TURNO_SIM_EXIT": ("0", "1", "oom", "evict")[number % 4]}
    priority = ("low", "high", "")[number % 3]
    cluster.store.create(queued_job(f"job-{number}", 1 + number % 3, namespace=team, priority=priority, env=env))


def open_notebook(cluster: Cluster, number: int) -> None:
    cluster.store.create(stateful_set(f"nb-{number}"))


def serve(cluster: Cluster, number: int) -> None:
    cluster.store.create(deployment(f"llm-{number}", replicas=1 + number % 3))


def take_away(cluster: Cluster, number: int) -> None:
    found = [one for kind in ("Job", "StatefulSet", "Deployment") for one in cluster.store.list(kind)]
    if found:
        one = found[number % len(found)]
        cluster.store.delete(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"])


def rescale(cluster: Cluster, number: int) -> None:
    found = [one for kind in ("StatefulSet", "Deployment") for one in cluster.store.list(kind)]
    if found:
        one = found[number % len(found)]
        most = 2 if one["kind"] == "StatefulSet" else 4
        change = {"replicas": number % most}
        cluster.store.mutate(one["kind"], "team-a", one["metadata"]["name"], lambda set_: set_["spec"].update(change))


def lose_a_pod(cluster: Cluster, number: int) -> None:
    found = cluster.store.list("Pod")
    if found:
        one = found[number % len(found)]["metadata"]
        cluster.store.delete("Pod", one["namespace"], one["name"])


def switch_off(cluster: Cluster, number: int) -> None:
    found = cluster.store.list("Workload")
    if found:
        one = found[number % len(found)]
        change = {"active": not one["spec"].get("active", True)}
        meta = one["metadata"]
        cluster.store.mutate("Workload", meta["namespace"], meta["name"], lambda wl: wl["spec"].update(change))


def cut_quota(cluster: Cluster, number: int) -> None:
    def cut(queue: Obj) -> None:
        queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = str(number % 3)

    cluster.store.mutate("ClusterQueue", None, ("team-a", "team-b")[number % 2], cut)


def hold(cluster: Cluster, number: int) -> None:
    change = {"stopPolicy": ("None", "Hold", "HoldAndDrain")[number % 3]}
    cluster.store.mutate("ClusterQueue", None, "team-a", lambda queue: queue["spec"].update(change))


def silence(cluster: Cluster, number: int) -> None:
    change = {"simulated.turno.dev/kubelet": "stopped"} if number % 2 else {}
    cluster.store.mutate("Node", None, "gpu-1", lambda node: node["metadata"].update(annotations=change))


def restart(cluster: Cluster, number: int) -> None:
    cluster.restart()


def stop_kueue(cluster: Cluster, number: int) -> None:
    cluster.manager.run_kueue(runs=bool(number % 2))


ACTS: tuple[Act, ...] = (
    submit,
    submit,
    submit,
    open_notebook,
    serve,
    take_away,
    rescale,
    lose_a_pod,
    switch_off,
    cut_quota,
    hold,
    silence,
    restart,
    stop_kueue,
)


def check_nodes(cluster: Cluster) -> None:
    """No node gives more than it has."""
    used: Counter[tuple[str, str]] = Counter()
    for pod in cluster.store.list("Pod"):
        if pod["spec"].get("nodeName") and pod["status"]["phase"] not in ENDED:
            for resource, amount in pod_requests(pod["spec"]).items():
                used[pod["spec"]["nodeName"], resource] += amount
    for (name, resource), amount in used.items():
        node = cluster.store.get("Node", None, name)
        assert node is not None
        assert amount <= parse(resource, node["status"]["allocatable"][resource])


def check_books(cluster: Cluster) -> None:
    """The engine's usage, the queues' status and the Workloads' say the same."""
    held: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for one in cluster.store.list("Workload"):
        status = one.get("status") or {}
        team = one["metadata"]["namespace"]
        if is_true(status, "Finished"):
            continue
        if is_true(status, "QuotaReserved"):
            counts[team, "reserving"] += 1
            for podset in status["admission"]["podSetAssignments"]:
                held[team] += parse(GPU, podset["resourceUsage"].get(GPU, 0))
        elif one["spec"].get("active", True):
            counts[team, "pending"] += 1
    for team in ("team-a", "team-b"):
        status = cluster.get("ClusterQueue", team, None)["status"]
        assert (status["reservingWorkloads"], status["pendingWorkloads"]) == (
            counts[team, "reserving"],
            counts[team, "pending"],
        )
        assert cluster.manager.books.engine.usage(team)["h100"][GPU][0] == held[team]
        (reserved,) = [one["resources"] for one in status["flavorsReservation"] if one["name"] == "h100"]
        assert parse(GPU, reserved[0]["total"]) == held[team]


def check_jobs(cluster: Cluster) -> None:
    """A Job runs exactly while its Workload is admitted; nothing that is ended has pods left that run."""
    by_owner = {one["metadata"]["labels"]["kueue.x-k8s.io/job-uid"]: one for one in cluster.store.list("Workload")}
    for job in cluster.store.list("Job"):
        workload = by_owner[job["metadata"]["uid"]]
        ended = is_true(workload["status"], "Finished")
        assert ended or job["spec"]["suspend"] is not is_true(workload["status"], "Admitted")
    for pod in cluster.store.list("Pod"):
        gated = bool(pod["spec"].get("schedulingGates"))
        assert not (gated and pod["spec"].get("nodeName"))


def admitted(cluster: Cluster) -> set[str]:
    """Who holds quota and has not ended."""
    return {
        one["metadata"]["uid"]
        for one in cluster.store.list("Workload")
        if is_true(one["status"], "Admitted") and not is_true(one["status"], "Finished")
    }


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.lists(some.tuples(some.sampled_from(ACTS), some.integers(0, 40), some.integers(0, 30)), max_size=25))
def test_a_random_day(day: list[tuple[Act, int, int]]) -> None:
    cluster = Cluster()
    furnish_lab(cluster)
    taken: set[tuple[str, int]] = set()
    for act, number, seconds in day:
        if act in (submit, open_notebook, serve) and (act.__name__, number) in taken:
            continue
        taken.add((act.__name__, number))
        act(cluster, number)
        cluster.run(seconds)
        check_nodes(cluster)
    stop_kueue(cluster, 1)
    silence(cluster, 0)
    cluster.run(1200)
    check_nodes(cluster)
    check_books(cluster)
    check_jobs(cluster)
    before = admitted(cluster)
    cluster.restart()
    cluster.run(0)
    check_books(cluster)
    assert admitted(cluster) == before
    cluster.store.close()
