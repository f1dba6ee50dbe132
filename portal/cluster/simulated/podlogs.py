"""The log subresource of pods."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from portal.cluster.simulated.errors import BadRequest, NotFound
from portal.cluster.simulated.exchange import Response
from portal.cluster.simulated.logs import Line, LogBook
from portal.cluster.simulated.objects import BY_KIND, Obj, parse_timestamp
from portal.cluster.simulated.store import Store


@dataclass(frozen=True)
class LogOptions:
    """previous: of the run before the last restart. tail: the last lines only. since: not older. limit: bytes."""

    container: str
    follow: bool
    previous: bool
    timestamps: bool
    tail: int | None
    since: datetime | None
    limit: int | None


def log_options(query: Mapping[str, str], now: datetime) -> LogOptions:
    """Raises BadRequest."""
    since = None
    if query.get("sinceTime"):
        try:
            since = parse_timestamp(query["sinceTime"])
        except ValueError as error:
            raise BadRequest(f'parsing time "{query["sinceTime"]}": cannot parse') from error
    seconds = _whole(query, "sinceSeconds")
    if seconds is not None:
        since = now - timedelta(seconds=seconds)
    return LogOptions(
        container=query.get("container", ""),
        follow=query.get("follow", "") in ("1", "true", "True"),
        previous=query.get("previous", "") in ("1", "true", "True"),
        timestamps=query.get("timestamps", "") in ("1", "true", "True"),
        tail=_whole(query, "tailLines"),
        since=since,
        limit=_whole(query, "limitBytes"),
    )


def read_logs(store: Store, logs: LogBook, where: tuple[str | None, str], options: LogOptions) -> Response:
    """The text, or the stream of it; of a pod without a node, nothing. where: (namespace, pod). Raises NotFound, and
    BadRequest as a kubelet does."""
    namespace, name = where
    pod = store.get("Pod", namespace, name)
    if pod is None:
        raise NotFound(BY_KIND["Pod"], name)
    container = _container(pod, options.container)
    if not pod["spec"].get("nodeName"):
        return Response(204)
    restart = _restart(pod, container, previous=options.previous)
    if options.previous or _terminated(pod, container):
        options = replace(options, follow=False)
    stream = _stream(logs, (pod["metadata"]["uid"], container, restart), options)
    return Response(stream=stream, headers={"content-type": "text/plain"})


def _container(pod: Obj, asked: str) -> str:
    spec = pod["spec"]
    names = [each["name"] for part in ("containers", "initContainers") for each in spec.get(part) or []]
    name = pod["metadata"]["name"]
    if asked:
        if asked not in names:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec["containers"]) > 1:
        choices = " ".join(each["name"] for each in spec["containers"])
        raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{choices}]")
    return str(spec["containers"][0]["name"])


def _terminated(pod: Obj, container: str) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return any(each["name"] == container and "terminated" in (each.get("state") or {}) for each in statuses)


def _restart(pod: Obj, container: str, *, previous: bool) -> int:
    """The number of the run whose log is asked for. Raises BadRequest when there is nothing to read."""
    name = pod["metadata"]["name"]
    status = pod.get("status") or {}
    found = [
        each
        for part in ("containerStatuses", "initContainerStatuses")
        for each in status.get(part) or []
        if each["name"] == container
    ]
    if not found:
        if previous:
            raise BadRequest(f'previous terminated container "{container}" in pod "{name}" not found')
        raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating')
    count = int(found[0].get("restartCount") or 0)
    if previous:
        if count == 0:
            raise BadRequest(f'previous terminated container "{container}" in pod "{name}" not found')
        return count - 1
    waiting = (found[0].get("state") or {}).get("waiting")
    if waiting is None:
        return count
    if "terminated" in (found[0].get("lastState") or {}):  # it waits for its restart: what ended last
        return count
    text = "trying and failing to pull image" if "Image" in waiting.get("reason", "") else waiting.get("reason", "")
    raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: {text}')


async def _stream(logs: LogBook, key: tuple[str, str, int], options: LogOptions) -> AsyncGenerator[bytes, None]:
    lines, position = logs.read(*key)
    if options.since is not None:
        lines = [line for line in lines if line.time >= options.since]
    if options.tail is not None:
        lines = lines[len(lines) - min(options.tail, len(lines)) :]
    left = options.limit
    while True:
        text = _text(lines, timestamps=options.timestamps)
        if left is not None:
            text = text[:left]
            left -= len(text)
        if text:
            yield text
        if not options.follow or left == 0:
            return
        lines, position = logs.read(*key, position)
        while not lines:
            if logs.ended(*key):
                return
            await logs.wait(*key)
            lines, position = logs.read(*key, position)


def _text(lines: list[Line], *, timestamps: bool) -> bytes:
    return b"".join(line.stamped() if timestamps else line.text for line in lines)


def _whole(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None or text == "":
        return None
    if not text.isdecimal():
        raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)
