"""Training on batch Jobs: one pod, or several that find each other by name (indexed)."""

from __future__ import annotations

from jobs.manifests import network, pods
from jobs.manifests.plan import JsonObject, Rendered, RunPlan
from jobs.specs import Training
from portal.cluster import names

RENDEZVOUS_PORT = 29500
DEFAULT_GRACE = 30
INDEX = "batch.kubernetes.io/job-completion-index"
MIN_PARALLELISM = "kueue.x-k8s.io/job-min-parallelism"


def job(plan: RunPlan, spec: Training) -> list[Rendered]:
    """One Job of one pod. Retries are Turno's: each is a run of its own."""
    return [Rendered(_job(plan, spec, {}), owned_by_workload=False)]


def indexed(plan: RunPlan, spec: Training) -> list[Rendered]:
    """An indexed Job, a headless Service for the pods' names, and the rule that lets them talk."""
    shape: JsonObject = {"completionMode": "Indexed", "completions": spec.nodes, "parallelism": spec.nodes}
    return [
        Rendered(network.headless_service(plan, port=RENDEZVOUS_PORT), owned_by_workload=True),
        Rendered(network.between_pods(plan), owned_by_workload=True),
        Rendered(_job(plan, spec, shape), owned_by_workload=False),
    ]


def _job(plan: RunPlan, spec: Training, shape: JsonObject) -> JsonObject:
    metadata = plan.queued()
    if spec.max_duration is not None:
        metadata["labels"][names.MAX_EXEC_TIME] = str(spec.max_duration)
    if shape and spec.min_nodes is not None and spec.min_nodes < spec.nodes:
        metadata["annotations"] = {MIN_PARALLELISM: str(spec.min_nodes)}
    pod: JsonObject = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": DEFAULT_GRACE if spec.grace_period is None else spec.grace_period,
    }
    main = pods.Main(command=spec.command or plan.image.command, args=spec.args)
    if shape:
        pod["subdomain"] = plan.stem
        main = _rendezvous(plan, spec)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"suspend": True, "backoffLimit": 0, **shape, "template": pods.template(plan, main, **pod)},
    }


def _rendezvous(plan: RunPlan, spec: Training) -> pods.Main:
    """What launchers read: plain torch.distributed names, and `PET_` for torchrun."""
    first = f"{plan.run_name}-0.{plan.stem}.{plan.namespace}.svc"
    least = spec.min_nodes or spec.nodes
    count = str(spec.nodes) if least == spec.nodes else f"{least}:{spec.nodes}"
    return pods.Main(
        command=spec.command or plan.image.command,
        args=spec.args,
        env={
            "MASTER_ADDR": first,
            "MASTER_PORT": str(RENDEZVOUS_PORT),
            "NNODES": str(spec.nodes),
            "WORLD_SIZE": str(spec.nodes * max(spec.gpus, 1)),
            "PET_MASTER_ADDR": first,
            "PET_MASTER_PORT": str(RENDEZVOUS_PORT),
            "PET_NNODES": count,
            "PET_NPROC_PER_NODE": str(max(spec.gpus, 1)),
        },
        sources=(pods.from_annotation("NODE_RANK", INDEX), pods.from_annotation("PET_NODE_RANK", INDEX)),
        ports=({"name": "rendezvous", "containerPort": RENDEZVOUS_PORT, "protocol": "TCP"},),
    )
