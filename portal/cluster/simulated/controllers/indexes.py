"""Completion indexes of Indexed Jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from portal.cluster.simulated.objects import Obj

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE: dict[str, Any] = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX_LABEL}']"}},
}


def is_indexed(job: Obj) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def index_of(pod: Obj) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(INDEX_LABEL, -1))


def set_index(pod: Obj, job_name: str, index: int) -> None:
    """Mark a new pod with its index: label, annotation, host name and the variable in every container."""
    meta = pod["metadata"]
    meta["labels"][INDEX_LABEL] = meta["annotations"][INDEX_LABEL] = str(index)
    pod["spec"].setdefault("hostname", f"{job_name}-{index}")
    for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or [])]:
        env = container.setdefault("env", [])
        if all(variable["name"] != INDEX_VARIABLE["name"] for variable in env):
            env.append(dict(INDEX_VARIABLE))


def parse_indexes(text: str) -> set[int]:
    """`0-2,5` is {0, 1, 2, 5}."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def indexes_text(indexes: Iterable[int]) -> str:
    """{0, 1, 2, 5} is `0-2,5`; two in a row are written `0,1`, as Kubernetes does."""
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(indexes), None]:
        if run and index == run[-1] + 1:
            run.append(index)
            continue
        if run:
            parts.append(_run_text(run))
        run = [] if index is None else [index]
    return ",".join(parts)


def _run_text(run: list[int]) -> str:
    if len(run) > 2:
        return f"{run[0]}-{run[-1]}"
    return ",".join(str(index) for index in run)
