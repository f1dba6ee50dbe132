"""The fields of each kind, and `parse`, the only validation of a workload request: form and JSON alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.specs import every_kind
from jobs.specs.context import SpecContext
from jobs.specs.model import Spec, make
from jobs.specs.reading import Reader
from jobs.states import gettext_noop as _
from portal.kernel.errors import FieldError, Invalid

MOST_NODES = 1000
MOST_REPLICAS = 100
MOST_RETRIES = 100
LONGEST_GRACE = 600
LEAST_IDLE = 60
# Set by the builder: a second one would win over it.
SERVER_FLAGS = ("--port", "--host", "--api-key", "--tensor-parallel-size", "-tp", "--model")


def parse(kind: str, data: Mapping[str, Any], context: SpecContext) -> Spec:
    """The spec of a request. Raises Invalid with every fault at once; `tenant` is the caller's to judge."""
    values, faults = judge(kind, data, context)
    if faults:
        raise Invalid(faults)
    return make(kind, values)


def judge(kind: str, data: Mapping[str, Any], context: SpecContext) -> tuple[dict[str, Any], list[FieldError]]:
    """Every field of a request as it would be kept, and everything that is wrong with it."""
    reader = Reader(data, context)
    reader.read.add("tenant")
    values = every_kind.read_common(reader, kind)
    values |= {"notebook": _notebook, "training": _training, "endpoint": _endpoint}[kind](reader)
    pods = values.get("nodes") or values.get("min_replicas") or 1
    every_kind.check_maximum(reader, values["flavor"], values["gpus"], pods)
    return values, reader.done()


def _variants(reader: Reader, kind: str) -> dict[str, str]:
    """variant -> why not, of one kind: the context's keys are `<kind>/<variant>`."""
    prefix = f"{kind}/"
    return {key.removeprefix(prefix): why for key, why in reader.context.variants.items() if key.startswith(prefix)}


def _notebook(reader: Reader) -> dict[str, Any]:
    return {
        "ide": reader.choice("ide", _variants(reader, "notebook"), "jupyterlab"),
        "storage": every_kind.storage(reader),
        "idle_timeout": idle_timeout(reader),
    }


def idle_timeout(reader: Reader) -> int | None:
    """Seconds; the policy's limit where missing, never more than it."""
    limit = reader.context.policy.idle_timeout
    value = reader.number("idle_timeout", least=LEAST_IDLE, most=every_kind.LONGEST_DURATION, default=limit)
    if value is not None and limit is not None and value > limit:
        reader.fault("idle_timeout", _("The team's policy allows at most %(most)s seconds."), "not_allowed", most=limit)
    return value


def _training(reader: Reader) -> dict[str, Any]:
    framework = reader.choice("framework", _variants(reader, "training"), "job")
    nodes = reader.number("nodes", least=1, most=MOST_NODES, default=1) or 1
    if framework == "job" and nodes > 1:
        reader.fault("nodes", _("One pod has one node: take the framework indexed for more."))
    min_nodes = reader.number("min_nodes", least=1, most=MOST_NODES)
    if min_nodes is not None and min_nodes > nodes:
        reader.fault("min_nodes", _("Use at most as many as nodes."))
    return {
        "framework": framework,
        "nodes": nodes,
        "command": reader.words("command"),
        "args": reader.words("args"),
        "retries": reader.number("retries", least=0, most=MOST_RETRIES, default=0),
        "checkpoint_path": _path(reader, "checkpoint_path"),
        "min_nodes": min_nodes,
        "grace_period": reader.number("grace_period", least=0, most=LONGEST_GRACE),
    }


def _path(reader: Reader, field: str) -> str | None:
    value = reader.text(field, longest=500)
    if value and (not value.startswith("/") or ".." in value.split("/") or not value.isprintable()):
        reader.fault(field, _("Use an absolute path inside the container."))
    return value


def _endpoint(reader: Reader) -> dict[str, Any]:
    replicas = reader.number("min_replicas", least=0, most=MOST_REPLICAS, default=1)
    return {
        "model": _model(reader),
        "runtime": reader.choice("runtime", _variants(reader, "endpoint"), "vllm-plain"),
        **replica_range(reader, replicas if replicas is not None else 1),
        "args": server_args(reader),
    }


def replica_range(reader: Reader, least: int) -> dict[str, Any]:
    """Fixed replicas: nothing scales them by itself yet, so a range would be a promise that nobody keeps."""
    if least == 0:
        reader.fault(
            "min_replicas", _("Nothing wakes a sleeping endpoint on this cluster yet: use at least 1."), "not_allowed"
        )
    most = reader.number("max_replicas", least=1, most=MOST_REPLICAS, default=least or 1)
    if most is not None and least and most != least:
        message = _("Nothing changes the number of replicas by itself here yet: use the same as min_replicas.")
        reader.fault("max_replicas", message, "invalid" if most < least else "not_allowed")
    sleep = reader.number("scale_to_zero_after", least=LEAST_IDLE, most=every_kind.LONGEST_DURATION)
    if sleep is not None:
        reader.fault("scale_to_zero_after", _("Endpoints do not scale to zero on this cluster yet."), "not_allowed")
    return {"min_replicas": least, "max_replicas": most, "scale_to_zero_after": sleep}


def _model(reader: Reader) -> str | None:
    value = reader.text("model", required=True, longest=400)
    if value and (value.startswith("-") or not value.isprintable() or value != value.strip()):
        reader.fault("model", _("Use a name on the model hub or a path, not beginning with a hyphen."))
    return value


def server_args(reader: Reader) -> tuple[str, ...]:
    """Arguments of the model server, in order; those that the platform sets are refused."""
    given = reader.words("args")
    for place, word in enumerate(given):
        if word.partition("=")[0] in SERVER_FLAGS:
            reader.fault(
                f"args.{place}", _("The platform sets %(flag)s itself."), "not_allowed", flag=word.partition("=")[0]
            )
    return given
