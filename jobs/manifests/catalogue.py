"""The variants that there are. A new one is one builder here, one row in `jobs.observe`'s tables, and its tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jobs.manifests import endpoint, notebook, training
from jobs.manifests.plan import Rendered, RunPlan
from jobs.states import gettext_noop as _

# Raised with every change of what builders make: a run says with which it was rendered.
BUILDERS_REVISION = 1

Builder = Callable[[RunPlan, Any], list[Rendered]]
BUILDERS: Mapping[str, Builder] = {
    "notebook/jupyterlab": notebook.jupyterlab,
    "training/job": training.job,
    "training/indexed": training.indexed,
    "endpoint/vllm-plain": endpoint.vllm_plain,
}
_NOT_OFFERED = _("This is not offered on this cluster yet.")
VARIANTS: Mapping[str, str] = {
    **dict.fromkeys(BUILDERS, ""),
    **dict.fromkeys(
        (
            "notebook/code-server",
            "notebook/custom",
            "training/pytorch",
            "training/trainjob",
            "training/mpi",
            "training/ray",
            "training/volcano",
            "endpoint/vllm",
            "endpoint/huggingface",
            "endpoint/triton",
        ),
        _NOT_OFFERED,
    ),
}


def why_not(variant: str, *, has_auth_filter: bool) -> str:
    """Why `<kind>/<variant>` is not offered on a cluster, as a msgid; "" where it is."""
    if variant.startswith("notebook/") and not has_auth_filter:
        return _("This cluster's gateway has no check of who opens a notebook, so there are none here.")
    return VARIANTS[variant]


def render(plan: RunPlan) -> list[Rendered]:
    """The objects of a run, in the order of their creation. The run's own object comes last."""
    return BUILDERS[f"{plan.spec.kind}/{plan.spec.variant}"](plan, plan.spec)
