"""Label and field selectors, as lists and watches take them in their query."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from portal.cluster.simulated.errors import BadRequest
from portal.cluster.simulated.objects import Obj

Predicate = Callable[[Obj], bool]

_TOKEN = re.compile(r"\s*(==|!=|=|!|\(|\)|,|[^\s=!(),]+)")
_IDENTIFIER = re.compile(r"[A-Za-z0-9._/-]+")
_OPERATORS = ("=", "==", "!=", "in", "notin")
_FIELDS = {
    "": ("metadata.name", "metadata.namespace"),
    "Event": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "Job": ("status.successful",),
    "Namespace": ("status.phase",),
    "Node": ("spec.unschedulable",),
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "ReplicaSet": ("status.replicas",),
    "Secret": ("type",),
}


def label_predicate(text: str) -> Predicate:
    """`a=b,c!=d,e in (f,g),h notin (i),j,!k`. Raises BadRequest."""
    tokens = [match.group(1) for match in _TOKEN.finditer(text)]
    tests: list[Predicate] = []
    position = 0
    while position < len(tokens):
        if tests:
            if tokens[position] != ",":
                raise BadRequest(f"found '{tokens[position]}', expected: ',' or 'end of string'")
            position += 1
        test, position = _requirement(tokens, position)
        tests.append(test)
    return lambda obj: all(test(obj) for test in tests)


def _requirement(tokens: list[str], position: int) -> tuple[Predicate, int]:
    name = _token(tokens, position)
    if name == "!":
        key = _identifier(tokens, position + 1, "!, identifier, or 'end of string'")
        return lambda obj: key not in _labels(obj), position + 2
    name = _identifier(tokens, position, "!, identifier, or 'end of string'")
    operator = _token(tokens, position + 1)
    if operator in ("", ","):
        return lambda obj: name in _labels(obj), position + 1
    if operator not in _OPERATORS:
        raise BadRequest(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
    if operator in ("in", "notin"):
        values, after = _values(tokens, position + 2)
    else:
        values, after = _value(tokens, position + 2)
    if operator in ("!=", "notin"):
        return lambda obj: _labels(obj).get(name) not in values, after
    return lambda obj: _labels(obj).get(name) in values, after


def _value(tokens: list[str], position: int) -> tuple[set[str], int]:
    value = _token(tokens, position)
    if value in ("", ","):
        return {""}, position
    return {_identifier(tokens, position, "identifier")}, position + 1


def _values(tokens: list[str], position: int) -> tuple[set[str], int]:
    if _token(tokens, position) != "(":
        raise BadRequest(f"found '{_token(tokens, position)}', expected: '('")
    values: set[str] = set()
    position += 1
    while _token(tokens, position) != ")":
        values.add(_identifier(tokens, position, "',', or identifier"))
        position += 1
        if _token(tokens, position) == ",":
            position += 1
        elif _token(tokens, position) != ")":
            raise BadRequest(f"found '{_token(tokens, position)}', expected: ',' or ')'")
    return values, position + 1


def _identifier(tokens: list[str], position: int, expected: str) -> str:
    token = _token(tokens, position)
    if not _IDENTIFIER.fullmatch(token):
        raise BadRequest(f"found '{token}', expected: {expected}")
    return token


def _token(tokens: list[str], position: int) -> str:
    return tokens[position] if position < len(tokens) else ""


def _labels(obj: Obj) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def field_predicate(kind: str, text: str) -> Predicate:
    """`metadata.name=a,status.phase!=b`, over the fields that the kind can be selected by. Raises BadRequest."""
    tests: list[Predicate] = []
    for term in filter(None, text.split(",")):
        found = re.fullmatch(r"([^=!]+)(!=|==?)(.*)", term)
        if found is None:
            raise BadRequest(f"invalid selector: '{text}'; can't understand '{term}'")
        name, operator, value = found.groups()
        if name not in _FIELDS[""] and name not in _FIELDS.get(kind, ()):
            raise BadRequest(f'field label not supported: "{name}"')
        tests.append(_field_test(name, value, equal=operator != "!="))
    return lambda obj: all(test(obj) for test in tests)


def _field_test(name: str, value: str, *, equal: bool) -> Predicate:
    return lambda obj: (_field(obj, name) == value) is equal


def _field(obj: Obj, name: str) -> str:
    value: Any = obj
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):  # an event's source is selected by its component
        value = value.get("component")
    return "" if value is None else str(value)
