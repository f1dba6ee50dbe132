"""The kubelets: what happens to a pod that has a node, from ContainerCreating to its end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from portal.cluster.simulated.controllers import containers, dependencies
from portal.cluster.simulated.controllers.behaviour import IMAGE, NOW, Behaviour, Ending, behaviour_of, role_of
from portal.cluster.simulated.controllers.conditions import TRUE
from portal.cluster.simulated.controllers.nodestate import address_of, is_stopped
from portal.cluster.simulated.controllers.output import last_words
from portal.cluster.simulated.controllers.podstate import is_ended, is_going, is_ready
from portal.cluster.simulated.controllers.speech import Speaker
from portal.cluster.simulated.controllers.world import World
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Change

COMPONENT = "kubelet"
PULL_SECONDS, RETRY_SECONDS = 1.0, 2.0
READY_SECONDS = {"notebook": 1.5, "endpoint": 4.0, "training": 1.0}
_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 300.0
_EVICTED = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 52Mi. "


class Kubelet:
    """All nodes' kubelets. A pod on a node whose kubelet is stopped stays as it is."""

    watches = ("Pod", "Node")

    def __init__(self, world: World) -> None:
        self._world = world
        self._speaker = Speaker(world)

    def keys_for(self, change: Change) -> list[tuple[str, str]]:
        if change.kind == "Node":
            came_back = change.previous is not None and is_stopped(change.previous) and not is_stopped(change.object)
            pods = self._world.index.pods_on(change.name) if came_back else []
            return [(namespace, name) for _, namespace, name in pods]
        if change.type == "DELETED":
            uid = change.object["metadata"]["uid"]
            self._world.logs.forget(uid)
            self._world.forget(uid)
            self._speaker.forget(uid)
            return []
        return [(change.namespace, change.name)] if change.object["spec"].get("nodeName") else []

    def reconcile(self, namespace: str, name: str) -> datetime | None:
        """One pass over one pod. Returns when to look again."""
        pod = self._world.store.get("Pod", namespace, name)
        if pod is None or self._is_out_of_reach(pod):
            return None
        if is_ended(pod):
            if is_going(pod):
                self._world.store.remove("Pod", namespace, name)
            return None
        if is_going(pod):
            return self._terminate(pod)
        state, details = containers.first_state(pod)
        behaviour = behaviour_of(pod, self._world.settings.rules)
        if not state:
            return self._accept(pod)
        if state == "running":
            return self._run(pod, behaviour, details["startedAt"])
        if state == "terminated" or details["reason"] == "CrashLoopBackOff":
            return self._restart(pod)
        return self._create(pod, behaviour)

    def _is_out_of_reach(self, pod: Obj) -> bool:
        node = self._world.store.get("Node", None, pod["spec"].get("nodeName") or "")
        return node is None or is_stopped(node)

    # Starting

    def _accept(self, pod: Obj) -> datetime | None:
        at = self._world.stamp()
        self._world.begin(pod["metadata"]["uid"], "creating")
        self._change(pod, lambda stored: containers.accept(stored, address_of(pod["spec"]["nodeName"]), at))
        return None

    def _create(self, pod: Obj, behaviour: Behaviour) -> datetime | None:
        missing = dependencies.missing(pod, self._world.store)
        if missing is not None:
            self._hold(pod, missing)
            return self._world.due(self._world.now(), RETRY_SECONDS)
        began = self._world.moment(pod["metadata"]["uid"], "creating", pod["status"].get("startTime"))
        due = self._world.due(began, PULL_SECONDS)
        if due > self._world.now():
            return due
        if behaviour.exit == IMAGE:
            self._refuse_image(pod)
            return None
        self._start(pod)
        return None

    def _hold(self, pod: Obj, missing: dependencies.Missing) -> None:
        self._change(pod, lambda stored: containers.wait(stored, missing.waiting, missing.message))
        self._event(pod, missing.event, missing.told, kind="Warning")

    def _refuse_image(self, pod: Obj) -> None:
        image = pod["spec"]["containers"][0].get("image", "")
        message = (
            f'Back-off pulling image "{image}": ErrImagePull: failed to pull and unpack image "{image}": not found'
        )
        if containers.first_state(pod)[1].get("reason") == "ImagePullBackOff":
            return
        self._event(pod, "Pulling", f'Pulling image "{image}"')
        failed = f'Failed to pull image "{image}": failed to pull and unpack image "{image}": not found'
        self._event(pod, "Failed", failed, kind="Warning")
        self._event(pod, "Failed", "Error: ErrImagePull", kind="Warning")
        self._event(pod, "BackOff", f'Back-off pulling image "{image}"')
        self._change(pod, lambda stored: containers.wait(stored, "ImagePullBackOff", message))

    def _start(self, pod: Obj) -> None:
        at, uid = self._world.stamp(), pod["metadata"]["uid"]
        for container in pod["spec"]["containers"]:
            image = container.get("image", "")
            self._event(pod, "Pulled", f'Container image "{image}" already present on machine')
            self._event(pod, "Created", f"Created container: {container['name']}")
            self._event(pod, "Started", f"Started container {container['name']}")
        self._world.begin(uid, f"running-{containers.restarts(pod)}")
        self._change(pod, lambda stored: containers.run(stored, _pod_address(uid), at))

    # Running

    def _run(self, pod: Obj, behaviour: Behaviour, started_at: str) -> datetime | None:
        now, uid = self._world.now(), pod["metadata"]["uid"]
        forced = (pod["metadata"].get("annotations") or {}).get(NOW)
        ordered = Ending.parse(forced or "")
        if ordered is not None:
            self._world.change(pod, _without_order)
            self._finish(pod, ordered)
            return None
        started = self._world.moment(uid, f"running-{containers.restarts(pod)}", started_at)
        ends = None if behaviour.seconds is None else self._world.due(started, behaviour.seconds)
        if ends is not None and ends <= now:
            self._speaker.speak(pod, behaviour, started)
            self._finish(pod, Ending.of(behaviour.exit))
            return None
        again = [ends, self._speaker.speak(pod, behaviour, started), self._make_ready(pod, behaviour, started)]
        return min((moment for moment in again if moment is not None), default=None)

    def _make_ready(self, pod: Obj, behaviour: Behaviour, started: datetime) -> datetime | None:
        if is_ready(pod):
            return None
        due = self._world.due(started, _ready_seconds(pod, behaviour))
        if due > self._world.now():
            return due
        at = self._world.stamp()
        self._change(pod, lambda stored: containers.set_ready(stored, at, ready=True))
        return None

    # Ending

    def _finish(self, pod: Obj, ending: Ending) -> None:
        at = self._world.stamp()
        self._speaker.end(pod, last_words(ending))
        if ending.evicted:
            self._evict(pod, ending, at)
            return
        policy = pod["spec"].get("restartPolicy", "Always")
        stays_down = policy == "Never" or (policy == "OnFailure" and ending.code == 0)
        self._world.begin(pod["metadata"]["uid"], "ended")

        def write(stored: Obj) -> None:
            containers.end(stored, ending.code, ending.reason, at)
            if stays_down:
                containers.finish(stored, "Succeeded" if ending.code == 0 else "Failed", at)

        self._change(pod, write)

    def _evict(self, pod: Obj, ending: Ending, at: str) -> None:
        name = containers.names(pod)[0]
        message = f"{_EVICTED}Container {name} was using more memory than its request. "

        def write(stored: Obj) -> None:
            containers.end(stored, ending.code, ending.reason, at)
            containers.finish(stored, "Failed", at, "Evicted", message)
            containers.say(stored["status"], "DisruptionTarget", TRUE, "TerminationByKubelet", message, at)

        self._change(pod, write)
        self._event(pod, "Evicted", message, kind="Warning")

    def _restart(self, pod: Obj) -> datetime | None:
        """After a crash: at once the first time, then with a growing back-off."""
        count, uid = containers.restarts(pod), pod["metadata"]["uid"]
        delay = 0.0 if count == 0 else min(_FIRST_BACKOFF * 2 ** (count - 1), _LONGEST_BACKOFF)
        due = self._world.due(self._world.moment(uid, "ended", _finished_at(pod)), delay)
        if due > self._world.now():
            name = containers.names(pod)[0]
            where = f"container={name} pod={pod['metadata']['name']}_{pod['metadata']['namespace']}({uid})"
            message = f"back-off {int(delay)}s restarting failed {where}"
            if containers.first_state(pod)[0] == "terminated":
                self._event(pod, "BackOff", f"Back-off restarting failed container {name}", kind="Warning")
                self._change(pod, lambda stored: containers.back_off(stored, message))
            return due
        self._change(pod, containers.restart)
        restarted = self._world.store.get("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        if restarted is not None:
            self._start(restarted)
        return None

    def _terminate(self, pod: Obj) -> datetime | None:
        """Stop the containers: they get their grace period, and go when they are done or it is over."""
        meta, uid = pod["metadata"], pod["metadata"]["uid"]
        running = containers.first_state(pod)[0] == "running"
        allowed = float(meta.get("deletionGracePeriodSeconds") or 0)
        needed = behaviour_of(pod, self._world.settings.rules).grace_seconds
        due = self._world.due(self._world.moment(uid, "terminating"), min(needed, allowed))
        if running:
            for name in containers.names(pod):
                self._event(pod, "Killing", f"Stopping container {name}")
            if due > self._world.now():
                return due
            self._kill(pod, 143 if needed <= allowed else 137)
        self._world.store.remove("Pod", meta["namespace"], meta["name"], uid=uid)
        return None

    def _kill(self, pod: Obj, code: int) -> None:
        at = self._world.stamp()
        self._speaker.end(pod, ["received SIGTERM, stopping"] if code != 137 else [])

        def write(stored: Obj) -> None:
            containers.end(stored, code, "Error", at)
            containers.finish(stored, "Failed", at)

        self._change(pod, write)

    def _change(self, pod: Obj, write: Callable[[Obj], object]) -> None:
        self._world.change(pod, write, status=True)

    def _event(self, pod: Obj, reason: str, message: str, *, kind: str = "Normal") -> None:
        self._world.event(pod, reason, message, kind=kind, component=COMPONENT)


def _ready_seconds(pod: Obj, behaviour: Behaviour) -> float:
    if behaviour.ready_seconds is not None:
        return behaviour.ready_seconds
    probed = any(
        container.get("readinessProbe") or container.get("startupProbe") for container in pod["spec"]["containers"]
    )
    return READY_SECONDS[role_of(pod)] if probed else 0.0


def _finished_at(pod: Obj) -> str | None:
    for status in pod["status"]["containerStatuses"]:
        for where in ("state", "lastState"):
            if "terminated" in status[where]:
                return str(status[where]["terminated"]["finishedAt"])
    return None


def _pod_address(uid: str) -> str:
    number = int(uid[:4], 16)
    return f"10.244.{number // 250 % 250}.{number % 250 + 2}"


def _without_order(pod: Obj) -> None:
    pod["metadata"]["annotations"].pop(NOW, None)
