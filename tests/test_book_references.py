"""The generated references: every operation, every public name, every command."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

import minigrad
from book import api, commands, imports, operations
from minigrad import functions, loss, nn, optim, view
from minigrad.core.ops import TABLE

# Types and tables that pages show by using them; and `check`, `lab`, modules with guides.
NOT_LISTED = {
    "__version__",
    "Arrow",
    "Scene",
    "Span",
    "Unit",
    "scene_of",
    "Schedule",
    "ACTIVATIONS",
}
MODULES = {"check", "lab", "loss", "nn", "optim", "view"}


def test_every_row_of_the_table_is_in_the_reference():
    page = operations.reference()
    for op in TABLE[1:]:
        assert re.search(rf"^(### {op.name}$|\| {op.name} \|)", page, re.M), op.name
    assert page.count("```{plot}") == page.count("\n### ")


def test_every_public_name_is_in_the_reference():
    listed = {name for page in api.PAGES.values() for part in page.parts for name in part.names}
    public = {*minigrad.__all__, *nn.__all__, *loss.__all__, *optim.__all__, *view.__all__}
    public |= {"compile", "vmap", "train_step", "to_jax", "to_torch", "padded"}
    assert public - listed - set(functions.__all__) - MODULES == NOT_LISTED


def test_signatures_and_texts_are_those_of_the_package():
    page = api.page_of("derivatives")
    assert "`minigrad.grad(output, inputs, *, create_graph=False)`" in page
    assert "`minigrad.gradcheck(f, inputs, *, against='differences'" in page
    assert inspect.getdoc(minigrad.jvp).splitlines()[0] in page
    assert ">>>" in page  # examples, which the tests of documents run
    with pytest.raises(LookupError, match="defines no nosuch"):
        api.definition("scalar", "nosuch")


def test_every_command_and_option_is_in_the_reference():
    page = commands.reference()
    for name in ("grad", "doctor", "play", "launch", "lab break", "lab check"):
        assert f"### minigrad {name}\n" in page
    assert "`--csv`" in page
    assert [*re.findall(r"^- `(\d)`: ", page, re.M)] == ["0", "1", "2"]


def test_the_picture_of_imports_has_every_folder_and_only_real_imports():
    graph = imports.imports()
    folders = {f"{p.name}/" for p in imports.SOURCE.iterdir() if (p / "__init__.py").is_file()}
    assert folders <= graph.keys()
    assert "core/" in graph["scalar"]
    assert not graph["errors"]
    short = imports.reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()})
    assert short == {"a": {"b"}, "b": {"c"}, "c": set()}
    picture = imports.svg()
    assert all(f">{room}<" in picture for room in graph)
