"""What a pod's containers do in the simulation.

Three voices, the later wins: the pod's own variables (`TURNO_SIM_SECONDS`, `TURNO_SIM_EXIT`), rules set through the
control endpoint, and annotations `simulated.turno.dev/<field>` on the pod itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from portal.cluster.simulated.controllers.settings import Rule
from portal.cluster.simulated.objects import Obj

PREFIX = "simulated.turno.dev/"
NOW = f"{PREFIX}now"
"""Annotation: the containers end at once, as the value says (`Ending.text`); taken off when they have."""
JOB_SECONDS, SERVICE_SECONDS = 15.0, 5.0
OOM, IMAGE, EVICT = "oom", "image", "evict"
_WORDS = (OOM, IMAGE, EVICT)


@dataclass(frozen=True)
class Behaviour:
    """Nominal seconds throughout.

    seconds: how long a container runs; None: until it is stopped. exit: how it ends: an exit code, `oom`, `evict`, or
    `image` (it never starts). ready_seconds: from running to ready; None: by what the pod is. grace_seconds: how long
    it takes to die when asked.
    """

    seconds: float | None = None
    exit: str = "0"
    ready_seconds: float | None = None
    grace_seconds: float = 0.5


@dataclass(frozen=True)
class Ending:
    """How containers end. code: the exit code; reason: of the terminated state; evicted: the pod is, by its node."""

    code: int
    reason: str
    evicted: bool = False

    @classmethod
    def of(cls, exit_word: str) -> Ending:
        """Of an exit code, `oom` or `evict`."""
        if exit_word == OOM:
            return cls(137, "OOMKilled")
        if exit_word == EVICT:
            return cls(137, "Error", evicted=True)
        return cls(int(exit_word), "Completed" if exit_word == "0" else "Error")

    @property
    def text(self) -> str:
        return f"{self.code} {self.reason}{' evicted' if self.evicted else ''}"

    @classmethod
    def parse(cls, text: str) -> Ending | None:
        """The reverse of `text`; None for anything else."""
        code, _, rest = text.partition(" ")
        reason, _, evicted = rest.partition(" ")
        return cls(int(code), reason, evicted == "evicted") if code.isdecimal() and reason else None


def behaviour_of(pod: Obj, rules: tuple[Rule, ...] = ()) -> Behaviour:
    """Put the three voices together; what cannot be read is left out."""
    said: dict[str, Any] = dict(_from_environment(pod))
    for rule in rules:
        if rule.matches(pod):
            said.update(rule.does)
    for key, value in (pod["metadata"].get("annotations") or {}).items():
        if key.startswith(PREFIX):
            said[key.removeprefix(PREFIX)] = value
    found = replace(Behaviour(), **dict(readable(said)))
    if found.seconds is None and (_is_of_job(pod) or found.exit != "0"):
        return replace(found, seconds=JOB_SECONDS if _is_of_job(pod) else SERVICE_SECONDS)
    return found


def readable(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of a behaviour among what was said, in their types."""
    for field in fields(Behaviour):
        value = said.get(field.name)
        if value is None:
            continue
        if field.name == "exit":
            if is_exit(str(value)):
                yield "exit", str(value)
        else:
            try:
                yield field.name, max(float(value), 0.0)
            except ValueError:
                continue


def is_exit(text: str) -> bool:
    """Whether a text names a way to end: 0 to 255, oom, image or evict."""
    return text in _WORDS or (text.isdecimal() and int(text) <= 255)


def role_of(pod: Obj) -> str:
    """`notebook`, `endpoint` or `training`: what the label `turno.dev/kind` says, else by its command."""
    said = (pod["metadata"].get("labels") or {}).get("turno.dev/kind")
    if said in ("notebook", "endpoint", "training"):
        return str(said)
    words = " ".join(_words(pod))
    if "vllm" in words:
        return "endpoint"
    return "notebook" if "jupyter" in words else "training"


def _words(pod: Obj) -> Iterator[str]:
    for container in pod["spec"].get("containers") or []:
        yield from (container.get("image") or "", *(container.get("command") or ()), *(container.get("args") or ()))


def _from_environment(pod: Obj) -> Iterator[tuple[str, str]]:
    for container in pod["spec"].get("containers") or []:
        for variable in container.get("env") or []:
            if variable["name"] == "TURNO_SIM_SECONDS":
                yield "seconds", variable.get("value", "")
            elif variable["name"] == "TURNO_SIM_EXIT":
                yield "exit", variable.get("value", "")


def _is_of_job(pod: Obj) -> bool:
    return any(ref["kind"] == "Job" for ref in pod["metadata"].get("ownerReferences") or [])
