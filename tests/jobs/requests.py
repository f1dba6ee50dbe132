"""A context to judge requests in, without a database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobs.specs import FlavorFacts, ImageFacts, PolicyFacts, Spec, SpecContext, parse
from portal.kernel.errors import Invalid
from tests.factories import jobs

CONTEXT = SpecContext(
    flavors={
        "h100": FlavorFacts("h100", "whole", "nvidia.com/gpu", 81559, 4, 4),
        "h100-1g": FlavorFacts("h100-1g", "mig", "nvidia.com/mig-1g.10gb", 10240, 4, 4),
        "cpu": FlavorFacts("cpu", "none"),
    },
    images={
        name: ImageFacts(name, f"registry.turno.example/{name}:1", frozenset(kinds))
        for name, kinds in {
            "jupyterlab": {"notebook"},
            "pytorch": {"training", "notebook"},
            "vllm": {"endpoint"},
        }.items()
    },
    priorities={"normal": False, "high": True},
    default_priority="normal",
    variants={
        "notebook/jupyterlab": "",
        "notebook/code-server": "Not here.",
        "training/job": "",
        "training/indexed": "",
        "training/pytorch": "Not here.",
        "endpoint/vllm-plain": "",
        "endpoint/vllm": "Not here.",
    },
    cpu_maximum="1000",
    memory_maximum="4Ti",
)
PREFIX = "registry.example:5000/ml/"
OPEN = replace(CONTEXT, policy=PolicyFacts(images=(PREFIX,)))


def judged(kind: str = "training", context: SpecContext = CONTEXT, **changes: Any) -> Spec:
    return parse(kind, jobs.request(kind, **changes), context)


def faults(kind: str = "training", context: SpecContext = CONTEXT, **changes: Any) -> dict[str, str]:
    """field -> code of a request that is refused."""
    with pytest.raises(Invalid) as refused:
        judged(kind, context, **changes)
    return {fault.field: fault.code for fault in refused.value.errors}


def sentences(kind: str = "training", context: SpecContext = CONTEXT, **changes: Any) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        judged(kind, context, **changes)
    return {fault.field: fault.message for fault in refused.value.errors}
