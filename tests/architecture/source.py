"""The repository's own code as data: files, lines, syntax trees, functions, imports."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("portal", "tenants", "quotas", "jobs")
SOURCE_FOLDERS = (*ROOMS, "deploy")
TEST_FOLDERS = ("tests", "examples")

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    """One function: where it is, its length in lines (decorators and docstring included), its tree."""

    place: str
    lines: int
    node: AnyFunction


def python_files(*folders: str) -> list[Path]:
    """Every Python file under the folders, migrations left out: they are generated."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if "migrations" not in path.parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(*folders: str) -> Iterator[Function]:
    for path in python_files(*folders):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, AnyFunction):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                yield Function(f"{shown(path)}:{node.name}", (node.end_lineno or first) - first + 1, node)


def module_name(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def import_graph() -> dict[str, frozenset[str]]:
    """Module -> the rooms' modules that it imports at run time (imports for annotations only do not count)."""
    modules = {module_name(path): path for path in python_files(*ROOMS)}
    return {name: frozenset(_imports(tree_of(path), modules) - {name}) for name, path in modules.items()}


def _imports(tree: ast.Module, modules: dict[str, Path]) -> set[str]:
    found: set[str] = set()
    for node in _run_time_nodes(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.update([inner] if inner in modules else [node.module] if node.module in modules else [])
    return found


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _run_time_nodes(node)
