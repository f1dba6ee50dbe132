"""Model servers: a Deployment of vLLM behind the gateway, with a derived key."""

from __future__ import annotations

from jobs.manifests import names, network, pods
from jobs.manifests.plan import JsonObject, Rendered, RunPlan
from jobs.specs import Endpoint

PORT = 8000
KEY = "key"
LOAD_SECONDS = 3600
PROBE_SECONDS = 10


def vllm_plain(plan: RunPlan, spec: Endpoint) -> list[Rendered]:
    """Deployment, Service, route (the path is cut off on the way) and the Secret of the key."""
    cut = {
        "type": "URLRewrite",
        "urlRewrite": {"path": {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}},
    }
    path = names.endpoint_path(plan.workload_id)
    return [
        Rendered(network.key_secret(plan, KEY), owned_by_workload=True),
        Rendered(network.service(plan, port=PORT), owned_by_workload=True),
        Rendered(
            network.route(plan, hostname=plan.cluster.endpoint_host, path=path, filters=[cut]), owned_by_workload=True
        ),
        Rendered(_deployment(plan, spec), owned_by_workload=False),
    ]


def _deployment(plan: RunPlan, spec: Endpoint) -> JsonObject:
    """A roll-out takes a pod away before it adds one: a surge pod would wait for quota."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": plan.queued(),
        "spec": {
            "replicas": spec.min_replicas,
            "selector": {"matchLabels": plan.run_selector},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": pods.template(plan, _server(plan, spec), terminationGracePeriodSeconds=30),
        },
    }


def _server(plan: RunPlan, spec: Endpoint) -> pods.Main:
    """`vllm serve <model>`, the key in VLLM_API_KEY. `/health` answers once the model is loaded, and needs no key."""
    args = [spec.model, "--port", str(PORT)]
    if spec.gpus > 1:
        args += ["--tensor-parallel-size", str(spec.gpus)]
    health: JsonObject = {
        "httpGet": {"path": "/health", "port": PORT},
        "periodSeconds": PROBE_SECONDS,
        "timeoutSeconds": 5,
    }
    return pods.Main(
        command=plan.image.command or ("vllm", "serve"),
        args=(*args, *spec.args),
        sources=(pods.from_secret("VLLM_API_KEY", plan.stem, KEY),),
        ports=({"name": "http", "containerPort": PORT, "protocol": "TCP"},),
        probes={
            "startupProbe": {**health, "failureThreshold": LOAD_SECONDS // PROBE_SECONDS},
            "readinessProbe": {**health, "failureThreshold": 1},
            "livenessProbe": {**health, "failureThreshold": 6},
        },
    )
