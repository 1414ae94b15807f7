"""`Value` as the lessons grow it, in seven small files: read them in order.

    source(6)       the text of a version
    diff(7)         what changed from the sixth to the seventh
    load(6)         its class, from a module of its own: nobody shares it with you

Each file stands alone and opens by saying what is new in it. The sixth has the famous bug, `=` for
`+=`; the seventh is sound. Children are an ordered tuple and are visited as written, so the wrong
numbers of the sixth are the same for everybody.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["VERSIONS", "Version", "diff", "get", "load", "load_module", "source"]


@dataclass(frozen=True)
class Version:
    """One step of the lessons."""

    number: int
    name: str
    new: dict[str, str]  # what is new in it, by language

    @property
    def path(self) -> Path:
        """The file."""
        return Path(__file__).with_name(f"v{self.number}.py")


def _row(number: int, name: str, en: str, es: str) -> Version:
    return Version(number, name, {"en": en, "es": es})


VERSIONS = (
    _row(1, "data", "a number in a box",
         "un número en una caja"),
    _row(2, "children", "operations make new Values, which remember their children",
         "las operaciones crean Values nuevos, que recuerdan a sus hijos"),
    _row(3, "labels", "names, operations, and a drawing of the expression",
         "nombres, operaciones y un dibujo de la expresión"),
    _row(4, "gradients by hand", "every Value has a grad, and you fill it in",
         "cada Value tiene un grad, y lo rellenas tú"),
    _row(5, "local steps", "each operation leaves a _backward that knows its own step",
         "cada operación deja un _backward que conoce su propio paso"),
    _row(6, "automatic order", "backward() sorts the graph by itself, and has the famous bug",
         "backward() ordena el grafo por sí solo, y trae el famoso error"),
    _row(7, "accumulation", "+= instead of =, so that gradients add up",
         "+= en lugar de =, para que los gradientes se sumen"),
)  # fmt: skip


def get(number: int) -> Version:
    """Return the row of a version, 1 to 7."""
    for version in VERSIONS:
        if version.number == number:
            return version
    raise ValueError(f"there is no version {number!r}; the versions are 1 to {len(VERSIONS)}.")


def source(number: int) -> str:
    """Return the text of a version."""
    return get(number).path.read_text(encoding="utf-8")


def diff(number: int) -> str:
    """Return what changed in the code since the version before, as a unified diff.

    The opening text of each file is left out, but counted: line numbers are those of the files.
    """
    new, old = get(number), get(number - 1) if number > 1 else None
    before, lines_before = _code(source(old.number)) if old else ([], 0)
    after, lines_after = _code(source(number))
    names = old.path.name if old else "nothing", new.path.name
    lines = difflib.unified_diff(before, after, *names, lineterm="")
    return "\n".join(_shifted(line, lines_before, lines_after) for line in lines) + "\n"


def load_module(number: int) -> ModuleType:
    """Run a version's file as a fresh module: `Value`, and from the third on `draw`."""
    path = get(number).path
    spec = importlib.util.spec_from_file_location(f"value_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"version {number}: cannot load {path.name}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(number: int) -> Any:
    """Return the class of a version, fresh: what you do to it nobody else sees."""
    return load_module(number).Value


def _code(text: str) -> tuple[list[str], int]:
    """Split a file into the lines below its opening text and the number of lines above them."""
    opening = ast.parse(text).body[0].end_lineno or 0
    lines = text.splitlines()
    while not lines[opening]:
        opening += 1
    return lines[opening:], opening


def _shifted(line: str, old: int, new: int) -> str:
    found = re.match(r"@@ -(\d+)(.*) \+(\d+)(.*) @@$", line)
    if not found:
        return line
    start, length, new_start, new_length = found.groups()
    old = old if length != ",0" else 0  # nothing was there before the first version
    return f"@@ -{int(start) + old}{length} +{int(new_start) + new}{new_length} @@"
