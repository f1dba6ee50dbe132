"""From a path to what it names."""

from __future__ import annotations

from dataclasses import dataclass

from portal.cluster.simulated.objects import RESOURCES, Resource

_BY_PLACE: dict[tuple[str, str, str], Resource] = {
    (resource.group, resource.version, resource.plural): resource for resource in RESOURCES
}


@dataclass(frozen=True)
class Route:
    """A collection (name ""), an object, or a subresource of one. namespace None: a cluster-wide kind, or a list over
    all namespaces."""

    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""


def route(path: str) -> Route | None:
    """None for a path that names nothing served here."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"]:
        group, rest = "", parts[1:]
    elif parts[:1] == ["apis"] and len(parts) > 1:
        group, rest = parts[1], parts[2:]
    else:
        return None
    if len(rest) < 2:
        return None
    version, rest = rest[0], rest[1:]
    if rest[0] == "namespaces" and len(rest) > 2 and (group, version, rest[2]) in _BY_PLACE:
        return _within(_BY_PLACE[group, version, rest[2]], rest[1], rest[3:])
    resource = _BY_PLACE.get((group, version, rest[0]))
    if resource is None or (resource.namespaced and len(rest) > 1):
        return None
    return _found(resource, None, rest[1:])


def _within(resource: Resource, namespace: str, rest: list[str]) -> Route | None:
    return _found(resource, namespace, rest) if resource.namespaced else None


def _found(resource: Resource, namespace: str | None, rest: list[str]) -> Route | None:
    if len(rest) > 2 or (len(rest) == 2 and rest[1] not in _subresources(resource)):
        return None
    name, subresource = ([*rest, "", ""])[:2]
    return Route(resource, namespace, name, subresource)


def _subresources(resource: Resource) -> tuple[str, ...]:
    status = ("status",) if resource.status else ()
    return (*status, "log") if resource.kind == "Pod" else status
