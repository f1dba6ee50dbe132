"""Sets of fields, as metadata.managedFields keeps them (FieldsV1), and the comparison of two objects.

A path is a tuple of elements: `f:name` a field, `k:{"name":"main"}` an item of a list with keys, `v:"x"` an item of
a set. A path of a map or an item stands for its existence; in FieldsV1 that is the member `"."` when it has children.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from portal.cluster.simulated.objects import Obj
from portal.cluster.simulated.schema import KEY_DEFAULTS, FieldPath, always_there, is_atomic_map, is_set, list_keys

Path = tuple[str, ...]
Paths = set[Path]

_IDENTITY = {
    ("f:apiVersion",),
    ("f:kind",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "generation",
            "managedFields",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    ),
}


def from_fields_v1(tree: Obj) -> Paths:
    """The paths of a FieldsV1 tree."""
    return set(_members(tree, ()))


def _members(tree: Obj, path: Path) -> Iterator[Path]:
    for element, below in tree.items():
        if element == ".":
            yield path
        elif below:
            yield from _members(below, (*path, element))
        else:
            yield (*path, element)


def to_fields_v1(paths: Paths) -> Obj:
    """The FieldsV1 tree of some paths."""
    tree: Obj = {}
    for path in sorted(paths):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
    for path in paths:
        node = tree
        for element in path:
            node = node[element]
        if node:
            node["."] = {}
    return tree


def shown(path: Path) -> str:
    """A path as conflict messages write it: `.spec.ports[port=80,protocol="TCP"].name`."""
    text = ""
    for element in path:
        sort, _, value = element.partition(":")
        if sort == "f":
            text += f".{value}"
        elif sort == "v":
            text += f"[={value}]"
        else:
            keys = orjson.loads(value).items()
            text += "[" + ",".join(f"{name}={orjson.dumps(key).decode()}" for name, key in keys) + "]"
    return text


def without_identity(paths: Paths) -> Paths:
    """What anybody may own: not the fields that make the object this object."""
    return {path for path in paths if path[:1] not in _IDENTITY and path[:2] not in _IDENTITY}


def part(paths: Paths, *, status: bool) -> Paths:
    """The paths that a write to the status, or to anything but the status, may own."""
    return {path for path in paths if (path[0] == "f:status") is status}


def item_element(kind: str, path: FieldPath, item: Any) -> str | None:
    """The path element of a list's item; None when the list is one value or the item lacks its keys."""
    if is_set(path):
        return f"v:{orjson.dumps(item).decode()}"
    keys = list_keys(kind, path)
    if keys is None or not isinstance(item, dict):
        return None
    values = {key: item.get(key, KEY_DEFAULTS.get(key)) for key in sorted(keys)}
    if None in values.values():
        return None
    return f"k:{orjson.dumps(values).decode()}"


def keyed(kind: str, path: FieldPath, items: Any) -> dict[str, Any] | None:
    """A list as element -> item; None when the list is one value."""
    if not isinstance(items, list) or not path:
        return None
    elements: dict[str, Any] = {}
    for item in items:
        element = item_element(kind, path, item)
        if element is None or element in elements:
            return None
        elements[element] = item
    if not items and not is_set(path) and list_keys(kind, path) is None:
        return None
    return elements


def children(kind: str, path: FieldPath, value: Any) -> list[tuple[str, FieldPath, Any]] | None:
    """(element, field path, value) of what a value consists of; None for a leaf."""
    if isinstance(value, dict) and not is_atomic_map(path):
        return [(f"f:{name}", (*path, name), below) for name, below in value.items()]
    items = keyed(kind, path, value)
    return None if items is None else [(element, path, item) for element, item in items.items()]


def item_children(kind: str, path: FieldPath, element: str, value: Any) -> list[tuple[str, FieldPath, Any]] | None:
    """As `children`, for something reached by `element`: an item's path is that of its list, and no list itself."""
    if element.startswith("f:"):
        return children(kind, path, value)
    if isinstance(value, dict) and element.startswith("k:"):
        return [(f"f:{name}", (*path, name), below) for name, below in value.items()]
    return None


def applied(obj: Obj) -> Paths:
    """What an apply of this object owns: its leaves, and the items of its keyed lists."""
    return without_identity(set(_leaves(obj["kind"], (), (), "f:", obj)))


def _leaves(kind: str, where: Path, path: FieldPath, element: str, value: Any) -> Iterator[Path]:
    below = item_children(kind, path, element, value)
    if where and (not below or not element.startswith("f:")):
        yield where
    for name, deeper, inner in below or []:
        yield from _leaves(kind, (*where, name), deeper, name, inner)


@dataclass
class Comparison:
    """What a write did: paths that were not there, that differ, that are gone."""

    added: Paths = field(default_factory=set)
    modified: Paths = field(default_factory=set)
    removed: Paths = field(default_factory=set)

    @property
    def changed(self) -> Paths:
        return self.added | self.modified


def compare(old: Obj, new: Obj) -> Comparison:
    """Compare two states of an object, identity left out."""
    found = Comparison()
    _compare(new["kind"], (), (), "f:", (old, new), found)
    found.added = without_identity(found.added)
    found.modified = without_identity(found.modified)
    found.removed = without_identity(found.removed)
    return found


def _compare(kind: str, where: Path, path: FieldPath, element: str, pair: tuple[Any, Any], found: Comparison) -> None:
    old, new = pair
    if old == new:
        return
    before = item_children(kind, path, element, old)
    after = item_children(kind, path, element, new)
    if before is None or after is None:
        found.modified.add(where)
        return
    olds = {name: value for name, _, value in before}
    news = {name: (deeper, value) for name, deeper, value in after}
    for name, deeper, value in before:
        if name not in news:
            found.removed |= set(_nodes(kind, (*where, name), deeper, name, value))
    for name, (deeper, value) in news.items():
        if name in olds:
            _compare(kind, (*where, name), deeper, name, (olds[name], value), found)
        else:
            found.added |= set(_nodes(kind, (*where, name), deeper, name, value))


def _nodes(kind: str, where: Path, path: FieldPath, element: str, value: Any) -> Iterator[Path]:
    """A part of an object with everything in it. A part that is always there counts only by what it holds."""
    below = item_children(kind, path, element, value)
    inside_list = any(not name.startswith("f:") for name in where)
    if below is None or inside_list or not always_there(kind, path):
        yield where
    for name, deeper, inner in below or []:
        yield from _nodes(kind, (*where, name), deeper, name, inner)
