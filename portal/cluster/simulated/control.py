"""The control endpoint of the simulated cluster: how fast it goes, and what befalls pods, nodes and workloads.

JSON over HTTP on a port of its own; nothing of Turno's own processes calls it. Times are nominal seconds: a speed of
10 makes ten of them pass in one real second. Time stamps stay real.

| call | body | does |
|---|---|---|
| GET / | | speed, whether Kueue runs, rules, nodes, number of objects |
| PUT /speed | `{"speed": 10}` | shortens delays |
| PUT /clock | `{"offset_seconds": -90}` | puts the cluster's clock before or behind the real time |
| PUT /kueue | `{"runs": false}` | stops Kueue: nothing is admitted, its webhooks refuse; `true` starts it again |
| PUT /rules | `{"rules": [rule]}` | what pods do from now on; replaces all rules |
| POST /rules | rule | adds one; the later rule wins |
| POST /pods/NS/NAME/end | `{"exit": "0", "code": 0, "reason": "OOMKilled"}` | ends running containers now (below) |
| POST /pods/NS/NAME/log | `{"text": "…"}` or `{"base64": "…"}` | the container writes these bytes |
| POST /workloads/NS/NAME/preempt | `{"by": "ns/name", "reason": "InCohortReclamation"}` | preempts it (both optional) |
| POST /workloads/NS/NAME/evict | `{"reason": "NodeFailures", "message": "…"}` | evicts a Workload |
| POST /nodes | `{"name", "card", "whole", "mig": {}, "shared": 0}` or `{"name", "cpu", "memory"}` | adds a node |
| PATCH /nodes/NAME | `{"kubelet": "stopped", "cordoned": true, "capacity": {}, "allocatable": {}}` | changes a node |
| DELETE /nodes/NAME | | takes the machine away |

A rule is `{"namespace", "name", "labels", "does"}`: it holds for pods of the namespace whose name begins so and that
have the labels (each optional). `does` may say `seconds` (how long a container runs), `exit` (code, `oom`, `evict`, or
`image`: it never starts), `ready_seconds` (from running to ready), `grace_seconds` (how long it takes to die). A
service whose `exit` is not 0 crashes again and again, as its restart policy has it.
`exit` of `end` is a code, `oom` or `evict`; `code` and `reason` overrule what that means for the terminated state.
For NAME of pods and Workloads, the name of the owner does too: then all its pods, or its Workload, are meant.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson

from portal.admission import Evict, PreemptionReason
from portal.admission import translation as specs
from portal.cluster.simulated.controllers.behaviour import NOW, Ending, is_exit, readable
from portal.cluster.simulated.controllers.containers import names, restarts
from portal.cluster.simulated.controllers.hardware import gpu_node, node
from portal.cluster.simulated.controllers.kueue import ledger
from portal.cluster.simulated.controllers.manager import Manager
from portal.cluster.simulated.controllers.nodestate import STOPPED, is_node_ready
from portal.cluster.simulated.controllers.settings import Rule
from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.exchange import Receive, Request, Response, Scope, Send, receive_request, send_response
from portal.cluster.simulated.objects import BY_KIND, Obj

_RULE_FIELDS = {"namespace", "name", "labels", "does"}


class Refused(Exception):
    """What was asked cannot be done: HTTP status and words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class _Call:
    names: tuple[str, ...]
    said: Mapping[str, Any]


class Control:
    """The ASGI application."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._world = manager.world
        self._calls: dict[tuple[str, str], Callable[[_Call], Any]] = {
            ("GET", ""): self._show,
            ("PUT", "speed"): self._set_speed,
            ("PUT", "clock"): self._set_clock,
            ("PUT", "kueue"): self._set_kueue,
            ("PUT", "rules"): self._set_rules,
            ("POST", "rules"): self._add_rule,
            ("POST", "pods/*/*/end"): self._end,
            ("POST", "pods/*/*/log"): self._write,
            ("POST", "workloads/*/*/preempt"): self._preempt,
            ("POST", "workloads/*/*/evict"): self._evict,
            ("POST", "nodes"): self._add_node,
            ("PATCH", "nodes/*"): self._change_node,
            ("DELETE", "nodes/*"): self._delete_node,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            response = self.answer(await receive_request(scope, receive))
        except ApiError as error:
            response = Response(error.status, {"error": error.message})
        await send_response(response, send)

    def answer(self, request: Request) -> Response:
        """One call."""
        try:
            call, found = self._find(request)
            return Response(200, call(found))
        except Refused as refusal:
            return Response(refusal.status, {"error": str(refusal)})
        except ApiError as error:
            return Response(error.status, {"error": error.message})
        except (KeyError, TypeError, ValueError) as error:
            return Response(422, {"error": f"{type(error).__name__}: {error}"})

    def _find(self, request: Request) -> tuple[Callable[[_Call], Any], _Call]:
        parts = [part for part in request.path.split("/") if part]
        known = False
        for (method, pattern), call in self._calls.items():
            wanted = pattern.split("/") if pattern else []
            if len(wanted) != len(parts) or any(a not in ("*", b) for a, b in zip(wanted, parts, strict=True)):
                continue
            known = True
            if method == request.method:
                given = tuple(part for part, place in zip(parts, wanted, strict=True) if place == "*")
                return call, _Call(given, _document(request.body))
        raise Refused(405 if known else 404, "no such call")

    # The whole

    def _show(self, call: _Call) -> Obj:
        settings, store = self._world.settings, self._world.store
        return {
            "speed": settings.speed,
            "clock_offset_seconds": settings.clock_offset.total_seconds(),
            "kueue_runs": settings.kueue_runs,
            "rules": [_shown(rule) for rule in settings.rules],
            "nodes": {one["metadata"]["name"]: is_node_ready(one) for one in store.scan("Node")},
            "objects": {kind: store.count(kind) for kind in BY_KIND if store.count(kind)},
        }

    def _set_speed(self, call: _Call) -> Obj:
        self._manager.books.time()
        self._world.settings.set_speed(float(call.said["speed"]))
        self._manager.look_at_everything()
        return {"speed": self._world.settings.speed}

    def _set_clock(self, call: _Call) -> Obj:
        self._manager.set_clock(timedelta(seconds=float(call.said["offset_seconds"])))
        return {"offset_seconds": self._world.settings.clock_offset.total_seconds()}

    def _set_kueue(self, call: _Call) -> Obj:
        runs = call.said["runs"]
        if not isinstance(runs, bool):
            raise Refused(422, "runs must be true or false")
        self._manager.run_kueue(runs=runs)
        return {"kueue_runs": runs}

    def _set_rules(self, call: _Call) -> Obj:
        return self._put_rules(tuple(_rule(said) for said in call.said["rules"]))

    def _add_rule(self, call: _Call) -> Obj:
        return self._put_rules((*self._world.settings.rules, _rule(call.said)))

    def _put_rules(self, rules: tuple[Rule, ...]) -> Obj:
        self._world.settings.set_rules(rules)
        self._manager.look_at_everything()
        return {"rules": [_shown(rule) for rule in rules]}

    # Pods

    def _end(self, call: _Call) -> Obj:
        how = str(call.said.get("exit", "0"))
        if not is_exit(how) or how == "image":
            raise Refused(422, "exit must be a code from 0 to 255, oom or evict")
        usual = Ending.of(how)
        code, reason = int(call.said.get("code", usual.code)), str(call.said.get("reason", usual.reason))
        if not 0 <= code <= 255 or not reason.isalnum():
            raise Refused(422, "code must be 0 to 255, reason one word")
        order, pods = Ending(code, reason, usual.evicted).text, self._pods(*call.names)
        for pod in pods:
            self._world.change(
                pod, lambda stored: stored["metadata"].setdefault("annotations", {}).update({NOW: order})
            )
        return {"pods": [pod["metadata"]["name"] for pod in pods]}

    def _write(self, call: _Call) -> Obj:
        try:
            data = base64.b64decode(call.said.get("base64", ""), validate=True) or str(call.said["text"]).encode()
        except binascii.Error as error:
            raise Refused(422, "base64 cannot be read") from error
        pods = self._pods(*call.names)
        for pod in pods:
            name, restart = names(pod)[0], restarts(pod)
            self._world.logs.append(pod["metadata"]["uid"], name, restart, self._world.now(), data)
        return {"pods": [pod["metadata"]["name"] for pod in pods], "bytes": len(data)}

    def _pods(self, namespace: str, name: str) -> list[Obj]:
        found = [
            pod
            for pod in self._world.store.scan("Pod", namespace)
            if pod["metadata"]["name"] == name or pod["metadata"]["name"].startswith(f"{name}-")
        ]
        if not found:
            raise Refused(404, f"no pod {namespace}/{name}")
        return found

    # Workloads

    def _preempt(self, call: _Call) -> Obj:
        victim, by = self._holding(call), str(call.said.get("by", "unknown/unknown"))
        reason = PreemptionReason(call.said.get("reason", PreemptionReason.IN_COHORT_RECLAMATION))
        decision = Evict(specs.key_of(victim), "Preempted", reason, by)
        self._manager.books.engine.evict(decision.key, "Preempted")
        self._manager.admission.evict(victim, decision)
        return {"workload": victim["metadata"]["name"]}

    def _evict(self, call: _Call) -> Obj:
        victim, reason = self._holding(call), str(call.said.get("reason", "NodeFailures"))
        message = str(call.said.get("message", f"The workload is evicted: {reason}"))
        self._manager.workloads.evict(victim, reason, message)
        return {"workload": victim["metadata"]["name"]}

    def _holding(self, call: _Call) -> Obj:
        namespace, name = call.names
        for obj in self._world.store.scan("Workload", namespace):
            owners = [ref["name"] for ref in obj["metadata"].get("ownerReferences") or []]
            if name != obj["metadata"]["name"] and name not in owners:
                continue
            if not ledger.is_admitted(obj) or ledger.is_finished(obj) or ledger.must_stop(obj):
                raise Refused(409, f"{namespace}/{obj['metadata']['name']} does not run")
            return obj
        raise Refused(404, f"no workload {namespace}/{name}")

    # Nodes

    def _add_node(self, call: _Call) -> Obj:
        said = dict(call.said)
        made = gpu_node(**said) if "card" in said else node(**said)
        self._world.store.create(made)
        return {"node": made["metadata"]["name"], "allocatable": made["status"]["allocatable"]}

    def _change_node(self, call: _Call) -> Obj:
        found = self._node(call.names[0])
        unknown = set(call.said) - {"kubelet", "cordoned", "capacity", "allocatable"}
        if unknown:
            raise Refused(422, f"unknown: {', '.join(sorted(unknown))}")
        self._world.change(found, lambda stored: _resize(stored, call.said), status=True)
        self._world.change(found, lambda stored: _mark(stored, call.said))
        return {"node": call.names[0]}

    def _delete_node(self, call: _Call) -> Obj:
        self._node(call.names[0])
        self._world.store.delete("Node", None, call.names[0])
        return {"node": call.names[0]}

    def _node(self, name: str) -> Obj:
        found = self._world.store.get("Node", None, name)
        if found is None:
            raise Refused(404, f"no node {name}")
        return found


def _document(body: bytes) -> Mapping[str, Any]:
    if not body:
        return {}
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, "the body is not JSON") from error
    if not isinstance(document, dict):
        raise Refused(400, "the body must be an object")
    return document


def _rule(said: Mapping[str, Any]) -> Rule:
    unknown = set(said) - _RULE_FIELDS
    does = said.get("does") or {}
    read = dict(readable(does))
    if unknown or set(read) != set(does):
        raise Refused(422, f"cannot be read: {', '.join(sorted(unknown | (set(does) - set(read))))}")
    return Rule(
        namespace=str(said.get("namespace", "")),
        name=str(said.get("name", "")),
        labels={str(key): str(value) for key, value in (said.get("labels") or {}).items()},
        does=read,
    )


def _shown(rule: Rule) -> Obj:
    return {"namespace": rule.namespace, "name": rule.name, "labels": dict(rule.labels), "does": dict(rule.does)}


def _resize(stored: Obj, said: Mapping[str, Any]) -> None:
    """A new capacity can all be allocated, unless `allocatable` says less."""
    for field, sources in (("capacity", ("capacity",)), ("allocatable", ("capacity", "allocatable"))):
        for source in sources:
            amounts = {name: str(amount) for name, amount in (said.get(source) or {}).items()}
            stored.setdefault("status", {}).setdefault(field, {}).update(amounts)


def _mark(stored: Obj, said: Mapping[str, Any]) -> None:
    annotations = stored["metadata"].setdefault("annotations", {})
    if said.get("kubelet") == "stopped":
        annotations[STOPPED] = "stopped"
    elif "kubelet" in said:
        annotations.pop(STOPPED, None)
    if "cordoned" in said:
        stored.setdefault("spec", {}).pop("unschedulable", None)
        if said["cordoned"]:
            stored["spec"]["unschedulable"] = True
