"""Which HTTPRoute a request takes, by Gateway API's rules: the exact host first, then the longest path."""

from __future__ import annotations

from dataclasses import dataclass

from portal.cluster.simulated.dataplane.messages import Incoming
from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.store import Store


@dataclass(frozen=True)
class Way:
    """Where a request goes: the route, the Service behind it, the path as the backend sees it, and whether the portal
    must agree first."""

    route: Obj
    namespace: str
    service: str
    path: str
    asks_first: bool


@dataclass(frozen=True)
class _Match:
    route: Obj
    rule: Obj
    prefix: str
    exact: bool
    named_host: bool

    @property
    def rank(self) -> tuple[bool, bool, int]:
        return self.named_host, self.exact, len(self.prefix)


def find_way(store: Store, request: Incoming) -> Way | None:
    """The best route for a request, or None."""
    matches = [match for route in store.scan("HTTPRoute") for match in _matches(route, request)]
    if not matches:
        return None
    best = max(matches, key=lambda match: match.rank)
    backends = best.rule.get("backendRefs") or []
    filters = best.rule.get("filters") or []
    namespace = best.route["metadata"]["namespace"]
    return Way(
        route=best.route,
        namespace=(backends[0].get("namespace") if backends else None) or namespace,
        service=backends[0]["name"] if backends else "",
        path=_rewritten(request.path, best, filters),
        asks_first=any(one.get("type") == "ExtensionRef" for one in filters),
    )


def _matches(route: Obj, request: Incoming) -> list[_Match]:
    spec = route["spec"]
    hosts = spec.get("hostnames") or []
    if "deletionTimestamp" in route["metadata"] or (hosts and not any(_is_host(one, request.host) for one in hosts)):
        return []
    found = []
    for rule in spec.get("rules") or []:
        for match in rule.get("matches") or [{"path": {"type": "PathPrefix", "value": "/"}}]:
            said = match.get("path") or {"type": "PathPrefix", "value": "/"}
            value, exact = said.get("value", "/"), said.get("type") == "Exact"
            if request.path == value or (not exact and _is_below(request.path, value)):
                found.append(_Match(route, rule, value, exact, bool(hosts)))
    return found


def _is_host(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and host != pattern[2:]
    return pattern == host


def _is_below(path: str, prefix: str) -> bool:
    """Whole path elements: /e/1 is above /e/1/v1, not above /e/12."""
    return path.startswith(prefix.rstrip("/") + "/")


def _rewritten(path: str, match: _Match, filters: list[Obj]) -> str:
    for one in filters:
        rewrite = (one.get("urlRewrite") or {}).get("path") or {}
        if one.get("type") == "URLRewrite" and rewrite.get("type") == "ReplacePrefixMatch":
            rest = path[len(match.prefix.rstrip("/")) :]
            return (rewrite.get("replacePrefixMatch", "/").rstrip("/") + rest) or "/"
    return path
