"""Notebooks: one pod with a home that outlives runs, behind the gateway's forward-auth."""

from __future__ import annotations

from jobs.manifests import names, network, pods
from jobs.manifests.plan import JsonObject, Rendered, RunPlan
from jobs.specs import Notebook

PORT = 8888
TOKEN = "token"  # noqa: S105  the entry's name
START_SECONDS = 600
PROBE_SECONDS = 5


def jupyterlab(plan: RunPlan, spec: Notebook) -> list[Rendered]:
    """StatefulSet of one, Service, claim, route and the Secret of the server's token."""
    host = names.notebook_host(spec.name, plan.workload_id, plan.cluster.notebook_domain)
    auth = {"type": "ExtensionRef", "extensionRef": dict(plan.cluster.auth_filter)}
    return [
        Rendered(network.key_secret(plan, TOKEN), owned_by_workload=True),
        Rendered(_claim(plan, spec), owned_by_workload=True),
        Rendered(network.service(plan, port=PORT), owned_by_workload=True),
        Rendered(network.route(plan, hostname=host, path="/", filters=[auth]), owned_by_workload=True),
        Rendered(_stateful_set(plan, _server(plan)), owned_by_workload=False),
    ]


def claim_name(plan: RunPlan) -> str:
    """The home of earlier runs where there is one."""
    return plan.claim or names.home_claim(plan.spec.name, plan.workload_id)


def _server(plan: RunPlan) -> pods.Main:
    """JupyterLab takes its token from JUPYTER_TOKEN; the gateway adds it to what an allowed browser sends."""
    probe = {"tcpSocket": {"port": PORT}, "periodSeconds": PROBE_SECONDS}
    return pods.Main(
        command=plan.image.command or ("jupyter", "lab"),
        args=(
            "--ServerApp.ip=0.0.0.0",
            f"--ServerApp.port={PORT}",
            "--ServerApp.open_browser=False",
            "--ServerApp.allow_remote_access=True",
            f"--ServerApp.root_dir={plan.image.home}",
        ),
        sources=(pods.from_secret("JUPYTER_TOKEN", plan.stem, TOKEN),),
        ports=({"name": "http", "containerPort": PORT, "protocol": "TCP"},),
        probes={
            "startupProbe": {**_answers(), "failureThreshold": START_SECONDS // PROBE_SECONDS},
            "readinessProbe": _answers(),
            "livenessProbe": {**probe, "failureThreshold": 6},
        },
        mounts=({"name": "home", "mountPath": plan.image.home},),
        volumes=({"name": "home", "persistentVolumeClaim": {"claimName": claim_name(plan)}},),
    )


def _answers() -> JsonObject:
    """`/api` says the version to everybody: the server answers, not only its port."""
    return {"httpGet": {"path": "/api", "port": PORT}, "periodSeconds": PROBE_SECONDS, "timeoutSeconds": 3}


def _claim(plan: RunPlan, spec: Notebook) -> JsonObject:
    claim: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": spec.storage}},
    }
    if plan.cluster.storage_class:
        claim["storageClassName"] = plan.cluster.storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": plan.owned(claim_name(plan)),
        "spec": claim,
    }


def _stateful_set(plan: RunPlan, main: pods.Main) -> JsonObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": plan.queued(),
        "spec": {
            "replicas": 1,
            "serviceName": plan.stem,
            "selector": {"matchLabels": plan.run_selector},
            "template": pods.template(plan, main, terminationGracePeriodSeconds=30),
        },
    }
