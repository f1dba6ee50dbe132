"""Field ownership: server-side apply, and what other writes do to the owners.

Owners are told apart by manager, operation, subresource and version, so the same manager's POST and apply are two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from portal.cluster.simulated.errors import ApiError
from portal.cluster.simulated.fields import (
    Path,
    Paths,
    applied,
    compare,
    from_fields_v1,
    item_children,
    keyed,
    part,
    shown,
    to_fields_v1,
)
from portal.cluster.simulated.objects import Obj, copy
from portal.cluster.simulated.schema import FieldPath, is_atomic_map


@dataclass(frozen=True)
class Manager:
    """Who writes: fieldManager, operation (Apply or Update), "" or "status", apiVersion of what is written."""

    name: str
    operation: str
    subresource: str
    api_version: str

    def __str__(self) -> str:
        text = f'"{self.name}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


@dataclass
class _Owner:
    paths: Paths
    time: str


Owners = dict[Manager, _Owner]


def own_update(old: Obj, new: Obj, manager: Manager, now: str) -> None:
    """Write into `new` who owns what after this manager's create, update or patch. `old` is the state before, for a
    create one that has nothing but apiVersion, kind and metadata."""
    owners = _read(old)
    _settle(owners, old, new, manager, part(compare(old, new).changed, status=manager.subresource == "status"), now)
    _write(new, owners)


def apply(live: Obj | None, config: Obj, manager: Manager, now: str, *, force: bool = False) -> Obj:
    """The object after a server-side apply. Raises ApiError (409) when others own what would change, unless forced."""
    config = copy(config)
    base = live or {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": {}}
    owners = _read(base)
    mine = part(applied(config), status=manager.subresource == "status")
    merged = copy(_merge(base["kind"], (), "f:", base, config))
    difference = compare(base, merged)
    others = [other for other in owners if other != manager]
    conflicts = [(other, path) for other in others for path in sorted(owners[other].paths & difference.changed)]
    if conflicts and not force:
        raise _conflict(conflicts)
    for other, path in conflicts:
        owners[other].paths.discard(path)
    before = owners[manager].paths if manager in owners else set()
    kept = set().union(*(owners[other].paths for other in others)) if others else set()
    dropped = before - _with_parents(mine) - _with_parents(kept)
    merged = _prune(base["kind"], merged, dropped)
    for other in others:
        owners[other].paths -= compare(base, merged).removed
    if manager not in owners or before != mine:
        owners[manager] = _Owner(mine, now)
    elif _bare(base) != _bare(merged):
        owners[manager].time = now
    _write(merged, owners)
    return merged


def _with_parents(paths: Paths) -> Paths:
    """A part cannot be dropped while something in it is kept."""
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


def _settle(owners: Owners, old: Obj, new: Obj, manager: Manager, changed: Paths, now: str) -> None:
    removed = compare(old, new).removed
    for owner in owners.values():
        owner.paths -= removed
    for other, owner in owners.items():
        if other != manager:
            owner.paths -= changed
    if manager in owners:
        owners[manager].paths |= changed
        if changed or removed:
            owners[manager].time = now
    elif changed:
        owners[manager] = _Owner(changed, now)


def _merge(kind: str, path: FieldPath, element: str, old: Any, new: Any) -> Any:
    """`new` over `old`, field by field and item by item."""
    if isinstance(old, dict) and isinstance(new, dict) and not (element.startswith("f:") and is_atomic_map(path)):
        merged = dict(old)
        for name, value in new.items():
            merged[name] = _merge(kind, (*path, name), "f:", old[name], value) if name in old else value
        return merged
    olds, news = keyed(kind, path, old), keyed(kind, path, new)
    if olds is None or news is None or not element.startswith("f:"):
        return new
    return [
        _merge(kind, path, name, olds[name], news[name])
        if name in olds and name in news
        else olds.get(name, news.get(name))
        for name in _interleave(list(olds), list(news))
    ]


def _interleave(old: list[str], new: list[str]) -> list[str]:
    """The order of a merged list: that of the applied one, with the others staying where they were."""
    order: list[str] = []
    rest = list(new)
    for name in old:
        if name not in new:
            order.append(name)
        elif name not in order:
            upto = rest.index(name) + 1
            order += rest[:upto]
            rest = rest[upto:]
    return order + rest


def _prune(kind: str, obj: Obj, dropped: Paths) -> Obj:
    """Without these paths; a map or list that they leave empty goes too."""
    for path in sorted(dropped, key=len):
        _remove(kind, obj, path)
    return obj


def _remove(kind: str, obj: Obj, path: Path) -> None:
    steps: list[tuple[Any, str, FieldPath]] = []
    value: Any = obj
    fields: FieldPath = ()
    element = "f:"
    for name in path:
        below = {each: (deeper, inner) for each, deeper, inner in item_children(kind, fields, element, value) or []}
        if name not in below:
            return
        steps.append((value, name, fields))
        fields, value = below[name]
        element = name
    for holder, name, inside in reversed(steps):
        if isinstance(holder, list):
            items = keyed(kind, inside, holder) or {}
            holder.remove(items[name])
        else:
            del holder[name.removeprefix("f:")]
        if holder or _is_item(steps, holder):
            break


def _is_item(steps: list[tuple[Any, str, FieldPath]], holder: Obj) -> bool:
    return any(isinstance(parent, list) and any(item is holder for item in parent) for parent, _, _ in steps)


def _conflict(conflicts: Iterable[tuple[Manager, Path]]) -> ApiError:
    found = sorted(conflicts, key=lambda each: (str(each[0]), each[1]))
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": shown(path)}
        for manager, path in found
    ]
    if len(found) == 1:
        text = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {shown(found[0][1])}"
    else:
        lines: list[str] = []
        for manager in dict.fromkeys(manager for manager, _ in found):
            lines.append(f"conflicts with {manager}:")
            lines += [f"- {shown(path)}" for other, path in found if other == manager]
        text = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", text, {"causes": causes})


def _read(obj: Obj) -> Owners:
    owners: Owners = {}
    for entry in obj["metadata"].get("managedFields") or []:
        manager = Manager(entry["manager"], entry["operation"], entry.get("subresource", ""), entry["apiVersion"])
        owners[manager] = _Owner(from_fields_v1(entry.get("fieldsV1") or {}), entry["time"])
    return owners


def _write(obj: Obj, owners: Owners) -> None:
    entries = [
        {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": owner.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields_v1(owner.paths),
            **({"subresource": manager.subresource} if manager.subresource else {}),
        }
        for manager, owner in owners.items()
        if owner.paths
    ]
    entries.sort(key=lambda entry: (entry["operation"], entry["time"], entry["manager"], entry.get("subresource", "")))
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _bare(obj: Obj) -> Obj:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name != "managedFields"}}
