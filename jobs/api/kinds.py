"""The three kinds: one typed schema each, and an example that a demo member can send as it stands."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_view

from jobs.api import bodies
from jobs.api.views import DRY_RUN, FILTER_PARAMETERS, KindView
from portal.rest.answers import PAGE_PARAMETERS, paged

COMMON = {"tenant": "data", "flavor": "h100-1g", "gpus": 1, "cpu": "2", "memory": "8Gi"}
EXAMPLES: dict[str, dict[str, Any]] = {
    "notebook": {"name": "lab", **COMMON, "image": "jupyterlab", "ide": "jupyterlab", "storage": "10Gi"},
    "training": {
        "name": "train",
        **COMMON,
        "image": "pytorch",
        "framework": "job",
        "command": ["python", "train.py"],
        "args": ["--epochs", "3"],
    },
    "endpoint": {
        "name": "chat",
        **COMMON,
        "image": "vllm",
        "runtime": "vllm-plain",
        "model": "Qwen/Qwen3-0.6B",
        "min_replicas": 1,
        "max_replicas": 1,
    },
}


def _documented(kind: str, body: type[bodies.WorkloadRequest], title: str) -> Any:
    return extend_schema_view(
        get=extend_schema(
            responses=paged("Workload", bodies.WorkloadAnswer),
            parameters=[*PAGE_PARAMETERS, *[p for p in FILTER_PARAMETERS if p.name != "kind"]],
        ),
        post=extend_schema(
            request=body,
            responses={201: bodies.WorkloadAnswer, 200: bodies.DryRunAnswer},
            parameters=[DRY_RUN],
            examples=[OpenApiExample(title, EXAMPLES[kind], request_only=True)],
        ),
    )


@_documented("notebook", bodies.NotebookRequest, "A notebook")
class NotebooksView(KindView):
    kind = "notebook"


@_documented("training", bodies.TrainingRequest, "A training job")
class TrainingJobsView(KindView):
    kind = "training"


@_documented("endpoint", bodies.EndpointRequest, "An endpoint")
class EndpointsView(KindView):
    kind = "endpoint"
