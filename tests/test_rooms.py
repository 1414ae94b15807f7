"""The architecture: imports go downwards only, and importing minigrad brings nothing along."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad

PACKAGE = Path(minigrad.__file__).parent
ROOT = Path(__file__).parent.parent

# A room may import rooms of a lower rank only.
RANK = {
    **dict.fromkeys(["errors", "version", "ops", "ieee", "arrays", "coerce", "files"], 0),
    **dict.fromkeys(["shim", "engines", "abilities", "callables", "names", "turns"], 0),
    **dict.fromkeys(["graph", "guard", "cheader", "terminal", "modes"], 1),
    "node": 2,
    **dict.fromkeys(["scalar", "bulk"], 3),
    **dict.fromkeys(["functions", "record"], 4),
    **dict.fromkeys(["derivatives", "nn", "optim", "loss", "expr", "explain"], 5),
    **dict.fromkeys(["checkpoint", "compat", "plot"], 6),
    **dict.fromkeys(["view.scene", "view.layers"], 6),
    **dict.fromkeys(["view.ranks", "view.reinsert", "view.placing", "view.routing"], 7),
    **dict.fromkeys(["view.ordering", "view.collapse", "view.text", "view.frames"], 8),
    **dict.fromkeys(["view.layout", "view.take"], 9),
    "view.svg": 10,
    **dict.fromkeys(["view.dot", "view.html"], 11),
    "view": 12,
    **dict.fromkeys(["check.programs", "check.faults", "check.differences", "check.exact"], 6),
    **dict.fromkeys(["check.replay", "lab.broken", "lab.labs", "lab.phrases", "lab.runner"], 6),
    **dict.fromkeys(["lab.versions"], 6),
    **dict.fromkeys(["check.dialect", "check.gradcheck", "lab.folder"], 7),
    **dict.fromkeys(["check.probes", "check.lines", "lab"], 8),
    "check.examine": 9,
    **dict.fromkeys(["check.answers", "check.inside", "check.patients"], 10),
    **dict.fromkeys(["check.child", "check.recognise", "check.limits"], 11),
    "check.report": 13,
    "check.doctor": 14,
    "check": 15,
    **dict.fromkeys(["compiler", "compiler.maps", "compiler.texts"], 1),
    "compiler.kernels": 2,
    "entries": 3,
    **dict.fromkeys(["compiler.tape", "compiler.reading", "quick"], 4),
    **dict.fromkeys(["compiler.program", "compiler.patches", "compiler.pytree"], 5),
    **dict.fromkeys(["compiler.words", "compiler.outside"], 2),
    **dict.fromkeys(["compiler.places", "compiler.shapes"], 5),
    **dict.fromkeys(["compiler.group", "compiler.trace"], 6),
    "compiler.search": 6,
    **dict.fromkeys(["compiler.escape", "compiler.surroundings", "compiler.untraced"], 7),
    **dict.fromkeys(["compiler.grad", "compiler.trim"], 7),
    "compiler.lower": 8,
    "compiler.backends": 9,
    "compiler.variant": 10,
    **dict.fromkeys(
        ["compiler.audit", "compiler.describe", "compiler.gradients", "compiler.jacobian"], 11
    ),
    "compiled": 12,
    **dict.fromkeys(["batches", "training"], 13),
    "compilation": 14,
    **dict.fromkeys(["lab.commands", "check.selftest"], 16),
    "cli": 17,
    **dict.fromkeys(["__init__", "__main__"], 18),
}


def room_of(path):
    """A module is a room; in these packages each module, and the package's own file, is one."""
    first, *rest = path.relative_to(PACKAGE).with_suffix("").parts
    inside = first in ("view", "check", "lab", "compiler") and rest != ["__init__"]
    return f"{first}.{rest[0]}" if inside else first


def depth_of(path):
    return len(path.relative_to(PACKAGE).parts)


def violations(room, source, depth=1):
    """What a room's source imports against the rules, wherever in the file it does."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level in (depth, depth - 1) and node.level:
            names = [node.module] if node.module else [alias.name for alias in node.names]
            inside = f"{room.split('.')[0]}." if node.level < depth else ""
            rooms = [inside + name.split(".")[0] for name in names if name != "_vm"]
            found += [name for name in rooms if RANK[name] >= RANK[room]]
        elif isinstance(node, ast.ImportFrom) and depth == 3 and node.level == 1:
            pass  # in the same room, which is a folder
        elif isinstance(node, ast.ImportFrom) and node.level:
            found.append(f"relative import of level {node.level}")
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "minigrad":
            found.append(node.module)  # would be a second copy under `src.minigrad`
        elif isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] == "minigrad"]
    return found


# Engines and programs for learners, which are copied, read or examined, but belong to no room.
MATERIAL = ("check/engines/", "lab/engines/", "lab/probes/", "lab/versions/v")
FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if not path.relative_to(PACKAGE).as_posix().startswith(MATERIAL)
)


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
            name = room.split(".")[-1] if document == "CONTRIBUTING.md" else room.split(".")[0]
            assert f"`{name}" in text, f"{document} does not mention {room}"
