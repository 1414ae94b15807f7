"""The architecture: imports go downwards only, and importing minigrad brings nothing along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad

PACKAGE = Path(minigrad.__file__).parent
ROOT = PACKAGE.parent.parent

# A room may import rooms of a lower rank only.
RANK = {
    "errors": 0,
    "version": 0,
    "ops": 0,
    "ieee": 0,
    "arrays": 0,
    "coerce": 0,
    "modes": 0,
    "files": 0,
    "shim": 0,
    "engines": 0,
    "graph": 1,
    "cheader": 1,
    "guard": 1,
    "node": 2,
    "scalar": 3,
    "bulk": 3,
    "functions": 4,
    "derivatives": 5,
    "nn": 5,
    "optim": 5,
    "loss": 5,
    "expr": 5,
    "checkpoint": 6,
    "compat": 6,
    "cli": 7,
    "__init__": 8,
    "__main__": 8,
}


def room_of(path):
    relative = path.relative_to(PACKAGE).with_suffix("")
    return relative.parts[0]


def depth_of(path):
    return len(path.relative_to(PACKAGE).parts)


def violations(room, source, depth=1):
    """What a room's source imports against the rules, wherever in the file it does."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            rooms = [name.split(".")[0] for name in names]
            found += [name for name in rooms if RANK[name] >= RANK[room]]
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"relative import of level {node.level}")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "minigrad":
            found.append(node.module)  # would be a second copy under `src.minigrad`
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] == "minigrad"]
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_room_has_a_rank():
    assert {room_of(path) for path in FILES} == set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_downwards_only(path):
    assert violations(room_of(path), path.read_text(encoding="utf-8"), depth_of(path)) == []


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("from .scalar import Value", ["scalar"]),
        ("def late():\n    from . import nn", ["nn"]),
        ("from .ieee import exp", ["ieee"]),  # same rank
        ("import minigrad.errors", ["minigrad.errors"]),
        ("from minigrad import Value", ["minigrad"]),
        ("from ..elsewhere import thing", ["relative import of level 2"]),
    ],
)
def test_an_upward_import_planted_in_the_table_is_caught(planted, found):
    source = (PACKAGE / "ops.py").read_text(encoding="utf-8")
    assert violations("ops", source) == []
    assert violations("ops", source + "\n" + planted + "\n") == found


def python(program, **options):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, **options
    ).stdout


def test_importing_minigrad_loads_no_third_party_module():
    program = """
import sys
before = set(sys.modules)
import minigrad
minigrad.Value(1.0).tanh().backward()
new = {  # Cython's runtime keeps two modules in memory that come from no package
    name.split(".")[0]
    for name in set(sys.modules) - before
    if getattr(sys.modules[name], "__spec__", None)
}
print(sorted(new - set(sys.stdlib_module_names) - {"minigrad"}))
"""
    assert python(program).strip() == "[]"


def test_the_source_tree_works_as_the_lessons_import_it():
    # `from src.minigrad.scalar import Value` from the root of the repository, nothing installed.
    program = """
import sys
from src.minigrad.scalar import Value
a = Value(3.0)
b = a + a
b.backward()
print(a.grad, "minigrad" in sys.modules)
"""
    assert python(program, cwd=ROOT).split() == ["2.0", "False"]


def test_the_public_names_are_sorted_and_exist():
    assert minigrad.__all__ == sorted(minigrad.__all__)
    for name in minigrad.__all__:
        assert hasattr(minigrad, name)


def test_the_map_of_rooms_in_the_documents_is_complete():
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for room in set(RANK) - {"__init__", "__main__"}:
            assert f"`{room}" in text, f"{document} does not mention {room}"
