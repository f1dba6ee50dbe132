"""Files, functions and imports stay small enough to be read; tests keep up with the source."""

import statistics
import tomllib
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.architecture.source import (
    ROOMS,
    ROOT,
    SOURCE_FOLDERS,
    TEST_FOLDERS,
    functions,
    import_graph,
    line_count,
    python_files,
    shown,
)

BUDGETS = tomllib.loads((ROOT / "tests" / "architecture" / "budgets.toml").read_text())
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}
# Django finds a database backend by this name.
DEMANDED_NAMES = {"portal/kernel/sqlite/base.py"}


@pytest.mark.parametrize(
    ("folders", "limit"),
    [(SOURCE_FOLDERS, BUDGETS["source_file_lines"]), (TEST_FOLDERS, BUDGETS["test_file_lines"])],
    ids=["source", "tests"],
)
def test_no_file_is_too_long(folders: tuple[str, ...], limit: int) -> None:
    lengths = {shown(path): line_count(path) for path in python_files(*folders)}
    assert {name: lines for name, lines in lengths.items() if lines > limit} == {}


def test_no_function_is_too_long() -> None:
    limit = BUDGETS["function_lines"]
    long = {function.place: function.lines for function in functions(*SOURCE_FOLDERS) if function.lines > limit}
    assert long == {}


def test_most_functions_are_short() -> None:
    lengths = [function.lines for function in functions(*SOURCE_FOLDERS)]
    assert statistics.quantiles(lengths, n=20)[-1] <= BUDGETS["function_lines_p95"]


def test_tests_keep_up_with_the_source() -> None:
    source = sum(line_count(path) for path in python_files(*SOURCE_FOLDERS))
    tests = sum(line_count(path) for path in python_files(*TEST_FOLDERS))
    assert tests / source >= BUDGETS["test_lines_per_source_line"], f"{tests} lines of tests for {source} of source"


def test_no_module_imports_too_much() -> None:
    limit = BUDGETS["internal_imports_per_module"]
    assert {name: len(used) for name, used in import_graph().items() if len(used) > limit} == {}


def test_no_module_is_in_an_import_cycle() -> None:
    try:
        TopologicalSorter(import_graph()).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def test_no_room_for_leftovers() -> None:
    names = [shown(path) for path in python_files(*ROOMS) if {path.stem, path.parent.name} & BANNED_NAMES]
    assert set(names) <= DEMANDED_NAMES


def test_every_function_says_what_it_returns() -> None:
    # The environment's builder must be readable by Pythons that do not know these annotations.
    every = functions(*SOURCE_FOLDERS, *TEST_FOLDERS)
    untyped = [f.place for f in every if f.node.returns is None and not f.place.startswith("deploy/environment.py")]
    assert untyped == []
