"""The architecture: imports go downwards only, and importing minigrad brings nothing along."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minigrad

PACKAGE = Path(minigrad.__file__).parent
ROOT = Path(__file__).parent.parent

# A folder, or a module beside the folders, imports only from those above it. Those on one line, and
# the modules of one folder, may import each other as long as there is no circle.
ORDER = [
    ["errors", "version"],
    ["maths"],
    ["core"],
    ["codegen"],
    ["scalar"],
    ["functions"],
    ["calculus"],
    ["checkpoint", "modules", "nn", "loss", "optim", "training_checkpoint"],
    ["expression_words", "expressions", "compat", "plot"],
    ["distributed"],
    ["compiler"],
    ["datasets", "fit", "history"],
    ["view"],
    ["check"],
    ["lab"],
    ["playground"],
    ["cli"],
    ["__init__", "__main__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}

MACHINE = ("_vm",)  # native/vm/, if it was built

# Engines and programs for learners, which are copied, read or examined, but belong to no folder.
MATERIAL = ("check/doctor/sound/", "lab/engines/", "lab/probes/", "lab/versions/v")
FILES = {
    path.relative_to(PACKAGE).with_suffix("").parts: path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not path.relative_to(PACKAGE).as_posix().startswith(MATERIAL)
}


def imported(module, source):
    """Name what a module imports, wherever in the file it does: parts of names, from the top."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = module[: -node.level] if node.level <= len(module) else ("beyond",)
            folder = (*above, *(node.module.split(".") if node.module else ()))
            names = [(*folder, alias.name) for alias in node.names]
            found += [name if is_module(name) else folder for name in names]
        elif isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "minigrad":
            found.append(("minigrad",))  # would be a second copy under `src.minigrad`
        elif isinstance(node, ast.Import):
            found += [("minigrad",) for a in node.names if a.name.split(".")[0] == "minigrad"]
    return [name for name in found if name != MACHINE]


def is_module(name):
    return name in FILES or (*name, "__init__") in FILES or name == MACHINE


def upward(module, source):
    """What a module imports that does not stand above it."""
    return [
        ".".join(name)
        for name in imported(module, source)
        if not name or name[0] not in RANK or RANK[name[0]] > RANK[module[0]]
    ]


@pytest.mark.smoke
def test_every_folder_has_its_place():
    assert {module[0] for module in FILES} == set(RANK)


@pytest.mark.parametrize("module", FILES, ids="/".join)
def test_imports_go_downwards_only(module):
    assert upward(module, FILES[module].read_text(encoding="utf-8")) == []


@pytest.mark.smoke
def test_imports_form_no_circle():
    graph = {}
    for module, path in FILES.items():
        for name in imported(module, path.read_text(encoding="utf-8")):
            target = name if name in FILES else (*name, "__init__")
            if target != module:
                graph.setdefault(module, []).append(target)
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) >= len(graph)


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("from ..scalar import Value", ["scalar"]),
        ("def late():\n    from .. import nn", ["nn"]),
        ("from ..compiler.ir import program", ["compiler.ir.program"]),
        ("import minigrad.errors", ["minigrad"]),
        ("from minigrad import Value", ["minigrad"]),
        ("from ...elsewhere import thing", ["beyond.elsewhere"]),
    ],
)
def test_an_upward_import_planted_in_the_table_is_caught(planted, found):
    source = FILES["core", "ops"].read_text(encoding="utf-8")
    assert upward(("core", "ops"), source) == []
    assert upward(("core", "ops"), source + "\n" + planted + "\n") == found


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


@pytest.mark.smoke
def test_every_module_of_the_compiler_has_tests():
    modules = [
        path
        for path in (PACKAGE / "compiler").rglob("*.py")
        if path.stem != "__init__" and path.parent.name != "backends"
    ]
    tests = {path.stem for path in (ROOT / "tests").glob("test_*.py")}
    missing = [  # the parts of a back end may have one file together
        path.stem
        for path in modules
        if f"test_{path.stem}" not in tests and f"test_{path.parent.name}" not in tests
    ]
    assert len(modules) > 40
    assert missing == []


@pytest.mark.smoke
def test_the_public_names_are_sorted_and_exist():
    assert minigrad.__all__ == sorted(minigrad.__all__)
    for name in minigrad.__all__:
        assert hasattr(minigrad, name)


def test_the_documents_show_the_folders_and_modules():
    pages = ("README.md", "docs/design.md")
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
    for name in set(RANK) - {"__init__", "__main__", "version"}:
        assert f"`{name}" in text, f"neither {' nor '.join(pages)} mentions {name}"


@pytest.mark.parametrize(
    "page",
    [
        "CONTRIBUTING.md",
        "docs/design.md",
        *(f"docs/design/{n}.md" for n in ("adding", "map", "workshop")),
    ],
)
def test_paths_that_a_page_names_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    places = [*ROOT.glob("*"), *(ROOT / "src").rglob("*")]  # C is in no wheel
    for folder in ("tests", "bench", "book", "docs"):
        places += (ROOT / folder).rglob("*")
    places += (ROOT / "playground").glob("*")
    named = re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.(?:py|pxd|h|c|js|md)|/))`", text)
    assert len(named) > 10
    known = {f"{path.as_posix()}{'/' * path.is_dir()}" for path in places}
    missing = [name for name in named if not any(each.endswith(f"/{name}") for each in known)]
    assert missing == []


def test_no_module_hides_a_public_name():
    """Importing a submodule sets an attribute of the package: `minigrad.play` is a function."""
    code = """
import importlib, pkgutil, minigrad
before = {name: getattr(minigrad, name) for name in minigrad.__all__}
for module in pkgutil.iter_modules(minigrad.__path__):
    if module.name != "__main__":
        importlib.import_module(f"minigrad.{module.name}")
print([name for name, thing in before.items() if getattr(minigrad, name) is not thing])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
