"""The line in somebody's file where a fault most likely sits; the file is read as a tree.

A file is read once, into marks: in each class, and in the whole file, which function begins where,
and where in it a gradient is set. A stranger's file is read in the sandbox, before its code is run:
no text, however nested, can make the doctor itself stumble.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from .dialect import BACKWARD, GRAD, NAMES, SPECIAL

HARMLESS = ("__init__", "zero_grad", *BACKWARD)
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")  # where statements have statements
# For each class, and for the file under "", the lines of: "class", the first one; "assign", a
# gradient that is set in a function inside of a function, a rule; "def name", outer ones first;
# "in name", the first gradient in it; "method name", one that the class has for sure.
Marks = dict[str, dict[str, int]]


def likely_line(
    text: str, where: str, cls: str = "", marks: Marks | None = None
) -> tuple[int | None, str]:
    """Return the line and its text, inside the class if there is one; None where nothing fits."""
    marks = marks_of(text) if marks is None else marks
    places = [marks[place] for place in dict.fromkeys([cls, ""]) if place in marks]
    line = next(filter(None, (_line(place, where) for place in places)), None)
    lines = text.split("\n")
    return (line, lines[line - 1]) if line is not None and line <= len(lines) else (None, "")


def marks_of(text: str) -> Marks:
    """Read a file's text; one that cannot be read as a tree has no marks."""
    try:
        level: list[_Place] = [_Place(node) for node in ast.parse(text).body]
    except (SyntaxError, ValueError, MemoryError, RecursionError, SystemError):
        return {}
    marks: Marks = {"": {}}
    while level:  # level by level, so that of two functions of a name the outer one counts
        for place in level:
            place.mark(marks)
        level = [inner for place in level for inner in place.inside()]
    return marks


@dataclass(frozen=True, slots=True)
class _Place:
    """A statement, with the classes and functions around it."""

    node: ast.AST
    classes: tuple[str, ...] = ("",)
    functions: tuple[str, ...] = ()

    def inside(self) -> Iterator[_Place]:
        node, classes, functions = self.node, self.classes, self.functions
        if isinstance(node, ast.ClassDef):
            classes = (*classes, node.name)
        elif isinstance(node, ast.FunctionDef):
            functions = (*functions, node.name)
        for block in BLOCKS:
            for inner in getattr(node, block, ()):
                yield _Place(inner, classes, functions)

    def mark(self, marks: Marks) -> None:
        """Write down what there is to say of the statement, for each class around it."""
        node = self.node
        if isinstance(node, ast.ClassDef):
            methods = {} if node.name in marks else _methods(node)  # of two such classes, which?
            known = marks.setdefault(node.name, {})
            for mark in [mark for mark in known if mark.startswith("method ")]:
                del known[mark]
            known |= methods
            for name in (*self.classes, node.name):
                marks[name].setdefault("class", node.lineno)
        elif isinstance(node, ast.FunctionDef):
            for name in self.classes:
                marks[name].setdefault(f"def {node.name}", node.lineno)
        elif isinstance(node, ast.Assign | ast.AugAssign) and _sets_grad(node):
            found = [f"in {function}" for function in self.functions]
            is_rule = not set(self.functions[:-1]) <= set(HARMLESS)
            if isinstance(node, ast.Assign) and is_rule:
                found.append("assign")
            for name in self.classes:
                for mark in found:
                    line = marks[name].get(mark, node.lineno)
                    marks[name][mark] = min(line, node.lineno)


def _methods(node: ast.ClassDef) -> dict[str, int]:
    """Find the methods that are not decorated away."""
    plain = [n for n in node.body if isinstance(n, ast.FunctionDef) and not n.decorator_list]
    return {f"method {n.name}": n.lineno for n in plain}


def _sets_grad(node: ast.Assign | ast.AugAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(t, ast.Attribute) and t.attr in GRAD for t in targets)


def _line(marks: dict[str, int], where: str) -> int | None:
    if where in ("class", "assign"):
        return marks.get(where)
    names = (*NAMES.get(where, ()), SPECIAL.get(where, ""), f"__{where}__")
    called = [f"def {name}" for name in (BACKWARD if where == "backward" else names)]
    found = next((mark for mark in marks if mark in called), None)
    if found is None or where in ("backward", "init"):
        return None if found is None else marks[found]
    return marks.get(f"in {found.removeprefix('def ')}", marks[found])
