"""A lifecycle field has one writer: `transitions`. Imports cannot show this, the syntax can."""

import ast

import pytest

from tests.architecture.source import ROOMS, python_files, shown, tree_of

LIFECYCLE_FIELDS = {"state", "reason"}
WRITING_CALLS = {"update", "bulk_update", "save"}
# Servers beside the portal, without its tables.
NOT_THE_PORTAL = ("portal/cluster/simulated/", "portal/admission/")


def writes(tree: ast.AST) -> list[int]:
    """Lines that write a lifecycle field: `x.state = ...`, `.update(state=...)`, `setattr(x, "state", ...)`,
    `.bulk_update(rows, ["state"])` and `.save(update_fields=["state"])`."""
    return sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt | ast.Call) and _writes(node)})


def _writes(node: ast.stmt | ast.Call) -> bool:
    if isinstance(node, ast.Assign):
        return any(_is_field(part) for target in node.targets for part in ast.walk(target))
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _is_field(node.target)
    return isinstance(node, ast.Call) and _call_writes(node)


def _is_field(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in LIFECYCLE_FIELDS


def _call_writes(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name) and call.func.id == "setattr":
        return _names(call.args[1:2])
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in WRITING_CALLS:
        return False
    if call.func.attr == "update" and any(keyword.arg in LIFECYCLE_FIELDS for keyword in call.keywords):
        return True
    lists = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "update_fields")]
    return _names([item for value in lists if isinstance(value, ast.List | ast.Tuple) for item in value.elts])


def _names(nodes: list[ast.expr]) -> bool:
    return any(isinstance(node, ast.Constant) and node.value in LIFECYCLE_FIELDS for node in nodes)


@pytest.mark.parametrize(
    "line",
    [
        "workload.state = State.RUNNING",
        "a, run.reason = 1, 'x'",
        "Workload.objects.filter(pk=1).update(state='running')",
        "rows.update(reason=Reason.READY, state_since=now)",
        "setattr(workload, 'state', 'running')",
        "Workload.objects.bulk_update(rows, ['name', 'state'])",
        "workload.save(update_fields=['reason'])",
    ],
)
def test_the_scan_sees_every_way_to_write(line: str) -> None:
    assert writes(ast.parse(line)) == [1]


@pytest.mark.parametrize(
    "line", ["x = workload.state", "seen.update({'a': 1})", "workload.save(update_fields=['name'])"]
)
def test_the_scan_lets_reading_pass(line: str) -> None:
    assert writes(ast.parse(line)) == []


def test_lifecycle_fields_are_written_by_transitions_only() -> None:
    files = [path for path in python_files(*ROOMS) if path.stem != "transitions" and "transitions" not in path.parts]
    places = [
        f"{shown(path)}:{line}"
        for path in files
        if not shown(path).startswith(NOT_THE_PORTAL)
        for line in writes(tree_of(path))
    ]
    assert places == []
