"""The two plain patches: JSON merge patch (RFC 7386) and JSON patch (RFC 6902) without `copy` and `move`."""

from __future__ import annotations

from typing import Any

from portal.cluster.simulated.errors import ApiError, BadRequest
from portal.cluster.simulated.objects import Obj, copy


def merge_patch(target: Any, patch: Any) -> Any:
    """`patch` over `target`: null removes, maps merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(target: Obj, operations: Any) -> Obj:
    """The object after all operations. Raises ApiError: 422 when a test fails or a path is not there, 400 when it is
    no patch."""
    if not isinstance(operations, list):
        raise BadRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    patched = copy(target)
    for operation in operations:
        _operate(patched, operation)
    return patched


def _operate(target: Obj, operation: Any) -> None:
    if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
        raise _rejected()
    holder, last = _find(target, operation["path"])
    name = operation.get("op")
    if name in ("test", "replace", "remove") and not _has(holder, last):
        raise _rejected()
    if name == "test":
        if _at(holder, last) != operation.get("value"):
            raise _rejected()
    elif name == "remove":
        del holder[int(last) if isinstance(holder, list) else last]
    elif name in ("add", "replace"):
        _put(holder, last, operation)
    else:
        raise _rejected()


def _put(holder: Any, last: str, operation: Obj) -> None:
    value = operation.get("value")
    if not isinstance(holder, list):
        holder[last] = value
    elif operation["op"] == "replace":
        holder[int(last)] = value
    elif last == "-":
        holder.append(value)
    elif last.isdecimal() and int(last) <= len(holder):
        holder.insert(int(last), value)
    else:
        raise _rejected()


def _find(target: Any, pointer: str) -> tuple[Any, str]:
    """The container that a JSON pointer's last part is in, and that part."""
    names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
    if not names:
        raise _rejected()
    for name in names[:-1]:
        if not _has(target, name):
            raise _rejected()
        target = _at(target, name)
    if not isinstance(target, dict | list):
        raise _rejected()
    return target, names[-1]


def _has(holder: Any, name: str) -> bool:
    if isinstance(holder, list):
        return name.isdecimal() and int(name) < len(holder)
    return isinstance(holder, dict) and name in holder


def _at(holder: Any, name: str) -> Any:
    return holder[int(name)] if isinstance(holder, list) else holder[name]


def _rejected() -> ApiError:
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})
