"""Everything the mirror says about the open run, put together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from jobs.observe.kueue import Admission, admission
from jobs.observe.pods import Pod, pod
from jobs.observe.seen import Seen, count, is_true, since, text


@dataclass(frozen=True)
class JobStatus:
    """A batch Job: `complete` or `failed` is final. `failure`: its reason and message."""

    uid: str
    complete: bool
    failed: bool
    failure: str
    failure_text: str
    succeeded: int
    failures: int
    finished_at: datetime | None


@dataclass(frozen=True)
class Controller:
    """A StatefulSet or Deployment: what it wants and what is ready."""

    uid: str
    desired: int
    ready: int


@dataclass(frozen=True)
class Node:
    """The node of a pod: whether it answers, since when not. A missing one is gone."""

    ready: bool
    since: datetime | None


@dataclass(frozen=True)
class Observation:
    """One run as the mirror has it. `pods` are the run's own; `admissions` those of its object or of its pods.

    `nodes`: those of its pods by name, None where the mirror has no nodes yet.
    """

    job: JobStatus | None = None
    controller: Controller | None = None
    pods: tuple[Pod, ...] = ()
    admissions: tuple[Admission, ...] = ()
    nodes: Mapping[str, Node] | None = None

    @property
    def quota_held(self) -> bool:
        return any(one.held for one in self.admissions)

    @property
    def pods_admitted(self) -> int:
        return sum(one.pods for one in self.admissions if one.held)

    def silent(self, pod: Pod) -> bool:
        """Its node does not answer, or is gone: what the pod said last need not be true any more."""
        return self.node_silent(pod.node)

    def node_silent(self, name: str) -> bool:
        if self.nodes is None or not name:
            return False
        node = self.nodes.get(name)
        return node is None or not node.ready

    def ready(self, pod: Pod) -> bool:
        return pod.ready and not self.silent(pod)

    @property
    def live_pods(self) -> tuple[Pod, ...]:
        return tuple(one for one in self.pods if not one.over)


def observe(
    objects: Iterable[Seen], admissions: Iterable[Seen], nodes: Iterable[Seen] | None, *, run: int, flavor: str = ""
) -> Observation:
    """`objects`: what carries the workload's label; only the run's own count. `nodes`: those of its pods.
    `flavor`: the ResourceFlavor that was asked for."""
    mine = [one for one in objects if one.run == run]
    jobs = [_job(one) for one in mine if one.kind == "Job"]
    controllers = [_controller(one) for one in mine if one.kind in ("StatefulSet", "Deployment")]
    pods = tuple(pod(one) for one in mine if one.kind == "Pod")
    return Observation(
        job=jobs[0] if jobs else None,
        controller=controllers[0] if controllers else None,
        pods=tuple(sorted(pods, key=lambda one: one.name)),
        admissions=tuple(admission(one, flavor) for one in admissions),
        nodes=None if nodes is None else {one.name: _node(one) for one in nodes},
    )


def _job(seen: Seen) -> JobStatus:
    conditions, status = seen.conditions, seen.part("status")
    complete, failed = conditions.get("Complete"), conditions.get("Failed")
    target = conditions.get("FailureTarget")
    over = complete if is_true(complete) else failed if is_true(failed) else None
    return JobStatus(
        uid=seen.uid,
        complete=is_true(complete),
        failed=is_true(failed),
        failure=text(failed, "reason") or text(target, "reason"),
        failure_text=text(failed) or text(target),
        succeeded=count(status.get("succeeded")),
        failures=count(status.get("failed")),
        finished_at=since(over),
    )


def _controller(seen: Seen) -> Controller:
    desired = seen.part("spec").get("replicas")
    return Controller(
        uid=seen.uid,
        desired=desired if isinstance(desired, int) else 1,
        ready=count(seen.part("status").get("readyReplicas")),
    )


def _node(seen: Seen) -> Node:
    ready = seen.conditions.get("Ready")
    return Node(is_true(ready), since(ready))
